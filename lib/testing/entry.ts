import assert from 'node:assert/strict'
import type { Revision, Stored } from '../storage.js'
import { show } from './contract.js'

/** One entry of a vault, or one record of a state store. */
export interface Entry {
  get (): Promise<Stored | null>
  put (value: string, expected: Revision | null): Promise<Revision | null>
  delete (expected: Revision): Promise<boolean>
}

/** Gives one new entry, seen through each adapter. */
export type Entries<T> = (...adapters: readonly T[]) => readonly [Entry, Entry]

export async function create (entry: Pick<Entry, 'put'>, value: string): Promise<Revision> {
  const revision = await entry.put(value, null)
  assert.equal(typeof revision, 'string', `put must return a revision, which is a string, when there was nothing, and returned ${show(revision)}`)
  return revision!
}

export async function replace (entry: Pick<Entry, 'put'>, value: string, expected: Revision): Promise<Revision> {
  const revision = await entry.put(value, expected)
  assert.equal(typeof revision, 'string', `put must return a revision, which is a string, when the expected one is there, and returned ${show(revision)}`)
  return revision!
}

/** @param when ends the sentence "get must return null" */
export async function assertMissing (entry: Pick<Entry, 'get'>, when: string): Promise<void> {
  const found = await entry.get()
  assert.equal(found, null, `get must return null ${when}, and returned ${show(found)}`)
}

/** @param when ends the sentence "get must return { value, revision }" */
export async function assertHolds (entry: Pick<Entry, 'get'>, value: string, revision: Revision, when: string): Promise<void> {
  const found = await entry.get()
  const same = found?.value === value && found.revision === revision     // a driver may have added something
  if (!same) assert.fail(`get must return ${show({ value, revision })} ${when}, and returned ${show(found)}`)
}

/** @param when ends the sentence "put must return null" */
export function assertLost (result: Revision | null, when: string): void {
  assert.equal(result, null, `put must return null ${when}, and returned ${show(result)}`)
}

/** @param when ends the sentence "delete must return true" */
export function assertDeleted (result: boolean, expected: boolean, when: string): void {
  assert.equal(result, expected, `delete must return ${expected} ${when}, and returned ${show(result)}`)
}

export function assertOneWinner (all: readonly unknown[], winners: readonly unknown[]): void {
  assert.equal(winners.length, 1, `of ${all.length} at once one must win, and ${winners.length} have`)
}

/** Somebody with an account. The name is shown on pages; the subject is what programs know the account by (`sub`). */
export interface Person {
  readonly login: string
  readonly subject: string
  readonly name: string
}

/** Accounts at Example Corp: the MCP server's own users. */
export const employees: readonly Person[] = [
  { login: 'alice', subject: 'employee-1', name: 'Alice Liddell' },
  { login: 'bob', subject: 'employee-2', name: 'Bob Dodgson' }
]

/** Accounts at Acme, the third party, which knows nothing of Example Corp. */
export const acmeCustomers: readonly Person[] = [
  { login: 'alice@acme.example', subject: 'customer-81', name: 'Alice at Acme' },
  { login: 'bob@acme.example', subject: 'customer-82', name: 'Bob at Acme' }
]

/** The password of every Example Corp account on the app's own sign-in page. */
export const demoPassword = 'demo'

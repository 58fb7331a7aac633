/** Whether two types are the same; `any` is the same as `any` alone. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** Compiles when the type argument is `true`. */
export declare function expect<Is extends true> (): Is

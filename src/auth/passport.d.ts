// Types for two packages that have none, as far as they are used.

declare module 'passport' {
  interface PassportStatic {
    authenticate(
      strategy: string,
      options: { session: boolean },
      done: (error: unknown, user?: false | null) => void,
    ): (request: object, response: object, next: (error: unknown) => void) => void;
  }
  const passport: { Passport: new () => PassportStatic };
  namespace passport {
    export type { PassportStatic };
  }
  export default passport;
}

declare module 'passport-http-bearer' {
  /** `PassportStrategy` of Nest passes its options and the function that verifies a key. */
  export const Strategy: new (options: object, verify: (...args: never[]) => void) => object;
}

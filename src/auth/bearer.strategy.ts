import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import type { KeyOwner } from './key-cache.js';
import { KeyOwners } from './key-owners.js';

/** Passport's bearer strategy (RFC 6750) over the stored API keys. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  declare private passport: passport.PassportStatic;

  constructor(private readonly owners: KeyOwners) {
    super();
  }

  /** An instance of its own: Passport's global one would only know the last application created in a process. */
  protected getPassportInstance(): passport.PassportStatic {
    return (this.passport ??= new passport.Passport() as passport.PassportStatic);
  }

  /** Called by Passport with the key of a request. */
  async validate(key: string): Promise<KeyOwner | false> {
    return (await this.owners.find(key)) ?? false;
  }

  /**
   * The owner of the key in an `Authorization` header, or null. Passport only sees this header: its strategy would also
   * take a key from the query or the body.
   */
  findOwner(authorization: string): Promise<KeyOwner | null> {
    const request = { headers: { authorization } };
    return new Promise((resolve, reject) => {
      const done = (error: unknown, owner?: KeyOwner | false | null) =>
        error ? reject(error) : resolve(owner || null);
      this.passport.authenticate('bearer', { session: false }, done)(request, {}, reject);
    });
  }
}

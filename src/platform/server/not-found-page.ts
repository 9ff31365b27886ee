import type { Request, Response } from 'express';

/** What a person sees in place of the Error of an unknown address, where the service has pages for people. */
export abstract class NotFoundPage {
  /** Whether the request comes from a browser that would show a page. */
  abstract isFor(request: Request): boolean;

  /** Answers with the page. */
  abstract send(request: Request, response: Response): void;
}

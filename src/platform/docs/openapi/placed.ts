import type { OpenAPIObject } from '@nestjs/swagger';

/** An operation of the document. */
export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  'x-deprecated-sunset'?: string;
};

/** An operation and where it stands. */
export interface Placed {
  path: string;
  method: string;
  operation: Operation;
}

/** Stands in the document for the scheme, host and port by which a client has asked for it. */
export const HERE = 'http://here.invalid';

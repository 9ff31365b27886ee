import { hash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { ApiError } from './api-error.js';
import type { RoutedRequest } from './caller.js';
import { Declare, type OperationFacts } from './operation-facts.js';
import { type JsonText, type Serializer, serializer } from './serializer.js';

const LENGTH = 22;
/** RFC 9110, 8.8.3; Node gives each byte of a header as one character. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** RFC 9110, 13.1.1 and 5.6.1: a list, in which some elements may be empty. */
const TAGS = new RegExp(String.raw`^[ \t,]*${TAG}(?:[ \t]*,[ \t,]*${TAG})*[ \t,]*$`);
/** The same for the document, as clients write it. */
const DOCUMENTED = String.raw`^(?:\*|(?:W/)?"[\x21\x23-\x7e]*"(?:, ?(?:W/)?"[\x21\x23-\x7e]*")*)$`;

/** The strong tag of a representation: another one has another. */
export function entityTag({ text }: JsonText): string {
  return `"${hash('sha256', text, 'base64url').slice(0, LENGTH)}"`;
}

/**
 * Gives every answer of a controller that is one `type` an `ETag` (RFC 9110, 8.8.3), which is another whenever the answer
 * is, so that a change can ask by `@IfMatch()` for the state that the client knows.
 */
export function EntityTags(type: Type): ClassDecorator {
  return Declare({ entity: { type, serialize: serializer(type) } });
}

/** Whether the answers of an operation have an `ETag`. */
export function isTagged({ entity, returns }: OperationFacts): boolean {
  return entity !== undefined && entity.type === returns;
}

/** What a request asks of the state of what it changes. */
export class Precondition {
  private constructor(
    private readonly tags: readonly string[] | undefined,
    private readonly serialize: Serializer<object>,
  ) {}

  /** @throws ApiError `validation_failed` for a header that is no list of tags */
  static of({ headers, operation }: RoutedRequest): Precondition {
    const header = headers['if-match'];
    if (header !== undefined && header !== '*' && !TAGS.test(header))
      throw new ApiError(
        'validation_failed',
        'If-Match must be * or a list of entity tags in double quotes.',
      );
    const tags = header === '*' ? undefined : header?.match(new RegExp(TAG, 'g'));
    return new Precondition(tags ?? undefined, operation.entity!.serialize);
  }

  /**
   * Call it first in the `work` of `changeRow`, when nobody else can change the row any more. Tags are compared strongly:
   * weak ones match nothing.
   * @throws ApiError `precondition_failed` for a state that the request does not name
   */
  require(row: object): void {
    if (this.tags?.includes(entityTag(this.serialize(row))) === false)
      throw new ApiError('precondition_failed');
  }
}

const PreconditionOf = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  Precondition.of(context.switchToHttp().getRequest<RoutedRequest>()),
);

/** Gives a method that changes or removes what `@EntityTags` of its controller tags the precondition of the request. */
export function IfMatch(): ParameterDecorator {
  return (target, name, index) => {
    const descriptor = Object.getOwnPropertyDescriptor(target, name!)!;
    PreconditionOf()(target, name, index);
    Declare({ conditional: true })(target, name!, descriptor);
    ApiHeader({
      name: 'If-Match',
      description:
        'The `ETag` of the state that is to be changed, or several: any other is left as it is (412).',
      required: false,
      schema: { type: 'string', pattern: DOCUMENTED },
    })(target, name!, descriptor);
  };
}

/** The parts of an error that are shown. Other properties, such as TypeORM's `parameters` and pg's `detail`, contain values. */
export interface ShownError {
  type: string;
  /** The message, or the SQLSTATE if the message may repeat a value. */
  message: string;
  /** The frames alone: the text above them repeats the message. */
  stack: string;
  cause?: ShownError;
  /** The errors of an `AggregateError`. */
  errors?: ShownError[];
}

/** PostgreSQL's data exceptions (SQLSTATE class 22) repeat the value that was sent. */
const DATA_EXCEPTION = /^22\w{3}$/;
/** A frame of a stack. */
const FRAME = /^ {4}at .+:\d+:\d+\)?$/;
/** The maximum depth of causes that are shown; an error may be its own cause. */
const MAX_DEPTH = 5;

/** The message of an error, or its SQLSTATE if the message may repeat a client's value. */
export function messageOf(error: Error, depth = 0): string {
  const { code, driverError } = error as { code?: unknown; driverError?: { code?: unknown } };
  const state = String(driverError?.code ?? code);
  if (DATA_EXCEPTION.test(state)) return `SQLSTATE ${state}`;
  const { cause, message } = error;
  if (!Error.isError(cause) || !cause.message || depth === MAX_DEPTH) return message;
  // A message often repeats the message of the cause.
  return message.replaceAll(cause.message, () => messageOf(cause, depth + 1));
}

/** The parts of an error to write to a log. */
export function shownError(error: Error, depth = 0): ShownError {
  const { name, cause, errors } = error as AggregateError;
  const shown: ShownError = { type: name, message: messageOf(error), stack: framesOf(error.stack) };
  if (depth === MAX_DEPTH) return shown;
  if (Error.isError(cause)) shown.cause = shownError(cause, depth + 1);
  if (Array.isArray(errors))
    shown.errors = errors.filter((one) => Error.isError(one)).map((one) => shownError(one, depth + 1));
  return shown;
}

/** The frames of a stack, without the message. */
export function framesOf(stack: unknown): string {
  return String(stack)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .join('\n');
}

/** The text of a thrown value for a terminal; for a value that is no error, only its type. */
export function textOf(error: unknown): string {
  return Error.isError(error) ? write(shownError(error)) : `A value of type ${typeof error} was thrown.`;
}

function write({ type, message, stack, cause, errors = [] }: ShownError): string {
  const further = [...(cause ? [cause] : []), ...errors].map((one) => `Caused by ${write(one)}`);
  return [`${type}: ${message}`, stack, ...further].filter(Boolean).join('\n');
}

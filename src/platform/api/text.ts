/** Whether a value is text that both UTF-8 and PostgreSQL can hold: no lone surrogate, no NUL. */
export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Length as JSON Schema and PostgreSQL count it; a JavaScript string counts an emoji as two. */
export function lengthInCodePoints(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) length--;
  }
  return length;
}

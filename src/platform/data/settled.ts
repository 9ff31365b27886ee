/**
 * `Promise.all` for the statements of a transaction, which are then sent together: it waits for all of them, also when one
 * has failed, so that none comes after the end of the transaction.
 * @throws the first failure
 */
export async function settled<T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [Key in keyof T]: Awaited<T[Key]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

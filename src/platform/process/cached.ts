/** How long an answer is kept: in milliseconds, and as a multiple of the time to read it. The longer time counts. */
interface Kept {
  ms: number;
  times?: number;
}

/**
 * Shares a read among many callers; at most one read runs at a time. Calls during a read, and for a while afterwards, get
 * that read's answer or failure. So an answer may be older than the call.
 */
export function cached<Answer>(read: () => Promise<Answer>, { ms, times = 0 }: Kept): () => Promise<Answer> {
  let latest: Promise<Answer> | undefined;
  return () => {
    if (latest) return latest;
    const begun = performance.now();
    const forgetLater = () => {
      const keptMs = Math.max(ms, times * (performance.now() - begun));
      setTimeout(() => (latest = undefined), keptMs).unref();
    };
    latest = read();
    latest.then(forgetLater, forgetLater);
    return latest;
  };
}

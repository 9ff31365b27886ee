/** Lets one wait until something has changed. */
export class Wake {
  private resolve = () => {};

  /** Resolves at the next call, and after some milliseconds at the latest. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.resolve = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  call(): void {
    this.resolve();
  }
}

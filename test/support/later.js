// With each SIGUSR2 it is ten minutes later by the clocks that tell how old something is.
for (const clock of [performance, Date]) {
  const now = clock.now.bind(clock);
  clock.now = () => now() + laterBy;
}
let laterBy = 0;
process.on('SIGUSR2', () => (laterBy += 10 * 60_000));

// Each SIGUSR2 advances, by ten minutes, the clocks that measure ages; the output confirms each move.
for (const clock of [performance, Date]) {
  const now = clock.now.bind(clock);
  clock.now = () => now() + laterBy;
}
let laterBy = 0;
process.on('SIGUSR2', () => {
  laterBy += 10 * 60_000;
  console.log('It is ten minutes later.');
});

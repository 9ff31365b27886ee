// Each SIGUSR2 moves the clocks that measure age ten minutes forward; the output confirms that.
for (const clock of [performance, Date]) {
  const now = clock.now.bind(clock);
  clock.now = () => now() + laterBy;
}
let laterBy = 0;
process.on('SIGUSR2', () => {
  laterBy += 10 * 60_000;
  console.log('It is ten minutes later.');
});

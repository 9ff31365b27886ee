// With each SIGUSR2 it is ten minutes later by the clocks that tell how old something is, and the output says so.
for (const clock of [performance, Date]) {
  const now = clock.now.bind(clock);
  clock.now = () => now() + laterBy;
}
let laterBy = 0;
process.on('SIGUSR2', () => {
  laterBy += 10 * 60_000;
  console.log('It is ten minutes later.');
});

// With each SIGUSR2 it is ten minutes later by the clock that tells how old something is.
const now = performance.now.bind(performance);
let laterBy = 0;
performance.now = () => now() + laterBy;
process.on('SIGUSR2', () => (laterBy += 10 * 60_000));

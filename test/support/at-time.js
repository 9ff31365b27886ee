// `Date.now()` is the first of TIMES; each SIGUSR2 moves it to the next.
const times = process.env.TIMES.split(',').map((time) => Date.parse(time));
Date.now = () => times[0];
process.on('SIGUSR2', () => times.shift());

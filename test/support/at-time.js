// `Date.now()` is the first of TIMES, and from each SIGUSR2 on the next one.
const times = process.env.TIMES.split(',').map((time) => Date.parse(time));
Date.now = () => times[0];
process.on('SIGUSR2', () => times.shift());

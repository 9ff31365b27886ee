const DAY = /^\d{4}-\d\d-\d\d$/;
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether a value is a day such as `2030-01-31` that the calendar has, in the years 1 to 9999. */
export function isDay(value: unknown): value is string {
  return typeof value === 'string' && DAY.test(value) && exists(value) && !value.startsWith('0000');
}

/** The time that a text names; undefined for a day that the calendar does not have, of which `Date` makes another. */
export function parseTime(text: string): Date | undefined {
  const day = RFC_3339.exec(text)?.[1];
  return day !== undefined && exists(day) ? new Date(text) : undefined;
}

function exists(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** Python's `strftime` in the C locale, local time; directives that are not known stay as they are. */
export function strftime(date: Date, format: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const hour12 = date.getHours() % 12 || 12;
  const dayOfYear = Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 1)) / 86_400_000 +
      1,
  );
  const directives = new Map<string, () => string>(
    Object.entries({
      Y: () => String(date.getFullYear()),
      y: () => two(date.getFullYear() % 100),
      m: () => two(date.getMonth() + 1),
      d: () => two(date.getDate()),
      e: () => String(date.getDate()).padStart(2, " "),
      H: () => two(date.getHours()),
      I: () => two(hour12),
      M: () => two(date.getMinutes()),
      S: () => two(date.getSeconds()),
      p: () => (date.getHours() < 12 ? "AM" : "PM"),
      B: () => MONTHS[date.getMonth()]!,
      b: () => MONTHS[date.getMonth()]!.slice(0, 3),
      A: () => DAYS[date.getDay()]!,
      a: () => DAYS[date.getDay()]!.slice(0, 3),
      j: () => String(dayOfYear).padStart(3, "0"),
      F: () => strftime(date, "%Y-%m-%d"),
      T: () => strftime(date, "%H:%M:%S"),
      D: () => strftime(date, "%m/%d/%y"),
      "%": () => "%",
    }),
  );
  return format.replace(/%(-?)([a-zA-Z%])/g, (whole, minus: string, letter: string) => {
    const text = directives.get(letter)?.() ?? whole;
    return minus ? text.replace(/^[0 ]+(?=.)/, "") : text;
  });
}

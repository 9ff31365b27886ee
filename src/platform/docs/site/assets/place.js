const REST = document.title.split(' · ').at(-1);

/** Marks beside the operations the one that the reader is at, and names it in the title of the tab. */
export function followPlace() {
  const operations = [...document.querySelectorAll('.operation')];
  const links = [...document.querySelectorAll(':is(.side, .menu) a')];
  const title = document.title;
  let drawn;
  const mark = () => {
    drawn = undefined;
    const here = placeOf(operations);
    let summary;
    for (const link of links) {
      const isHere = here && link.hash === `#${here.id}`;
      if (isHere) summary = link.textContent;
      if (isHere) link.setAttribute('aria-current', 'location');
      else link.removeAttribute('aria-current');
    }
    const named = summary ? `${summary} · ${REST}` : title;
    if (document.title !== named) document.title = named;
  };
  const look = () => (drawn ??= requestAnimationFrame(mark));
  for (const event of ['scroll', 'hashchange', 'click']) addEventListener(event, look);
  look();
}

/** The operation that the address names, as long as its beginning is in sight, else that which stands in the upper half. */
function placeOf(operations) {
  const named = operations.find(({ id }) => location.hash === `#${id}`);
  if (named && isAcross(named, 0, innerHeight)) return named;
  return operations.find((one) => isAcross(one, innerHeight / 4, innerHeight / 2));
}

function isAcross(element, from, to) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > from && top < to;
}

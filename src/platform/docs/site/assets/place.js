const TITLE = document.title;

/** Marks beside the operations the one that the reader is at, and names it in the title of the tab. */
export function followPlace(root) {
  let drawn;
  const look = () => (drawn ??= requestAnimationFrame(mark));
  const mark = () => {
    drawn = undefined;
    const panel = placeOf(root);
    const [, tag, id] = /^operations-(.+)-(\w+)$/.exec(panel?.id) ?? [];
    let summary;
    for (const link of document.querySelectorAll(':is(.side, .menu) a')) {
      const isHere = id !== undefined && link.hash === `#/${tag}/${id}`;
      if (isHere) summary = link.textContent;
      if (isHere) link.setAttribute('aria-current', 'location');
      else link.removeAttribute('aria-current');
    }
    const title = summary ? `${summary} · ${TITLE}` : TITLE;
    if (document.title !== title) document.title = title;
  };
  for (const event of ['scroll', 'hashchange', 'click', 'keyup']) addEventListener(event, look);
  look();
}

/** The operation that the address names, as long as it is in sight, else that which stands in the upper half. */
function placeOf(root) {
  const named = document.getElementById(`operations-${location.hash.slice(2).replace('/', '-')}`);
  if (named && isAcross(named, 0, innerHeight)) return named;
  const panels = [...root.querySelectorAll('.opblock.is-open')];
  return panels.find((panel) => isAcross(panel, innerHeight / 4, innerHeight / 2));
}

function isAcross(element, from, to) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > from && top < to;
}

/** Words of readers, and those of the site that mean the same. */
const SAME = {
  beta: ['stability'],
  change: ['approve'],
  changelog: ['versions'],
  compatibility: ['versions'],
  curl: ['steps'],
  experimental: ['stability'],
  health: ['unavailable'],
  javascript: ['typescript', 'clients'],
  limit: ['limits'],
  login: ['authentication'],
  oauth: ['token', 'authentication'],
  paginate: ['pages'],
  pagination: ['pages'],
  paging: ['pages'],
  password: ['email'],
  quickstart: ['first steps'],
  quota: ['limits'],
  release: ['versions'],
  retry: ['send again'],
  rotate: ['replace'],
  roll: ['replace'],
  scope: ['permissions'],
  scopes: ['permissions'],
  sdk: ['clients'],
  sdks: ['clients'],
  signup: ['create account'],
  states: ['status', 'approve', 'cancel'],
  throttle: ['limits'],
  throttling: ['limits'],
  timeout: ['limits', 'time'],
  token: ['authentication'],
  uuid: ['identifiers'],
  version: ['versions'],
};
/** How much what a reader meant counts beside what was written. */
const MEANT = 3;

const OPTIONS = {
  idField: 'id',
  fields: ['title', 'about', 'text'],
  storeFields: ['kind', 'title', 'about', 'address'],
  // `pet_not_found` is found by any of its words, `createPet` by both.
  tokenize: (text) => text.replace(/([a-z])([A-Z])/g, '$1 $2').split(/[^\p{L}\p{N}]+/u),
  searchOptions: {
    prefix: true,
    // Another status or code is another thing, and no slip of the keyboard.
    fuzzy: (term) => (/\d/.test(term) || term.length < 5 ? false : 0.2),
    combineWith: 'AND',
    boost: { title: 4, about: 2 },
    boostDocument: (_id, _term, { kind, address }) => weightOf(kind, address),
  },
};

/** A guide comes before its parts and what else has its words, an operation before what tells of it, a field last. */
function weightOf(kind, address) {
  if (kind === 'Field') return 0.5;
  if (kind === 'Operation') return 1.5;
  return /^guides\/[\w-]+$/.test(address) ? 3 : 1;
}

/**
 * What finds entries by words, the best first: what has exactly these words for its title comes before all others.
 * @param MiniSearch the class of the package
 */
export function finderOf(MiniSearch, entries) {
  const index = new MiniSearch(OPTIONS);
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));
  return (words) => {
    const given = words.trim();
    const wanted = given.toLowerCase();
    // A code is one word to whoever has it from an answer.
    const code = given.includes('_');
    const terms = given.split(/\s+/).map((word) => (code ? word : queryFor(word)));
    const found = index.search({ combineWith: 'AND', queries: terms }, code ? { fuzzy: false } : {});
    const isExact = ({ title, about, address }) =>
      [title, about, address.split('/').at(-1)].some((one) => one.toLowerCase() === wanted);
    return [...found.filter(isExact), ...found.filter((one) => !isExact(one))];
  };
}

function queryFor(word) {
  const same = SAME[word.toLowerCase()];
  if (!same) return word;
  const meant = same.map((other) => ({ queries: [other], boost: { title: 4 * MEANT, about: 2 * MEANT } }));
  return { combineWith: 'OR', queries: [word, ...meant] };
}

/** Words of the site, and those of readers that mean the same. */
const WORDS = {
  approve: 'change states',
  authentication: 'login oauth token',
  cancel: 'states',
  clients: 'javascript sdk sdks',
  'create account': 'signup',
  email: 'password',
  'first steps': 'quickstart',
  identifiers: 'uuid',
  limits: 'limit quota throttle throttling timeout',
  pages: 'paginate pagination paging',
  permissions: 'scope scopes',
  replace: 'roll rotate',
  'send again': 'retry',
  stability: 'beta experimental',
  status: 'states',
  steps: 'curl',
  time: 'timeout',
  token: 'oauth',
  typescript: 'javascript',
  unavailable: 'health',
  versions: 'changelog compatibility release version',
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
  const isMeant = ([, words]) => words.split(' ').includes(word.toLowerCase());
  const same = Object.entries(WORDS).filter(isMeant);
  if (same.length === 0) return word;
  const meant = same.map(([other]) => ({ queries: [other], boost: { title: 4 * MEANT, about: 2 * MEANT } }));
  return { combineWith: 'OR', queries: [word, ...meant] };
}

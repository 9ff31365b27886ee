import type { Errors } from 'petstore/platform';

export const ERRORS = {
  category_not_found: {
    status: 404,
    meaning: 'The category cannot be found.',
    advice: 'Choose one of GET /categories. A body that names a missing one is answered 400.',
  },
  category_exists: {
    status: 409,
    meaning: 'A category with this name already exists.',
    advice: 'Find it in GET /categories, and use it.',
  },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}

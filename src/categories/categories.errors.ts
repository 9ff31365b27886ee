import { declareErrors } from '../platform/api/error-codes.js';

const ERRORS = declareErrors({
  category_not_found: {
    status: 404,
    meaning: 'The category cannot be found.',
    advice: 'Choose one of GET /categories.',
  },
  category_exists: {
    status: 409,
    meaning: 'A category with this name already exists.',
    advice: 'Find it in GET /categories, and use it.',
  },
});

declare module '../platform/api/error-codes.js' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}

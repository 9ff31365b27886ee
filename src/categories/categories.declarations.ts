import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'categories:read': 'List and fetch categories.',
    'categories:write': 'Add categories.',
  },
  errors: {
    category_not_found: {
      status: 404,
      meaning: 'The category cannot be found.',
      advice: 'Choose a category of GET /categories. A body that names a missing category gets 400.',
    },
    category_exists: {
      status: 409,
      meaning: 'A category with this name already exists.',
      advice: 'Find it in GET /categories, and use it.',
    },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    categories: typeof DECLARATIONS;
  }
}

import type { Facts } from '../src/testing/facts.js';

export const facts: Facts = {
  choices: {
    updateOrder: [
      { body: { status: 'approved' }, needs: 'orders:manage', status: 200 },
      { body: { status: 'delivered' }, needs: 'orders:manage', status: 409 },
      { body: { status: 'cancelled' }, needs: 'orders:write', status: 200 },
    ],
  },
};

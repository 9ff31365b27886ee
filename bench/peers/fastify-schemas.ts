import { STATUSES } from './shared.js';

// `int64` and `plainText` are keywords defined here: Ajv knows neither bigint nor text that PostgreSQL cannot hold.
const INT64 = { type: 'integer', format: 'int64' };
const STATUS = { type: 'string', enum: STATUSES };
const TIME = { type: 'string', format: 'date-time' };

const Pet = {
  type: 'object',
  required: ['id', 'name', 'categoryId'],
  properties: { id: INT64, name: { type: 'string' }, categoryId: INT64, status: { type: 'string' } },
};

const Order = {
  type: 'object',
  required: ['id', 'petId', 'status', 'createdAt', 'updatedAt'],
  properties: { id: INT64, petId: INT64, status: { type: 'string' }, createdAt: TIME, updatedAt: TIME },
};

const Message = {
  type: 'object',
  required: ['id', 'message', 'status', 'createdAt'],
  properties: {
    id: { type: 'string' },
    message: { type: 'string' },
    status: { type: 'string' },
    createdAt: TIME,
  },
};

export const listPets = {
  querystring: {
    type: 'object',
    properties: {
      limit: { type: 'string', pattern: '^(?:[1-9]\\d?|100)$' },
      status: STATUS,
      cursor: { type: 'string' },
    },
  },
  response: { 200: { type: 'array', items: Pet } },
};

export const getPet = {
  params: { type: 'object', properties: { petId: { type: 'string' } } },
  response: { 200: Pet },
};

export const createPet = {
  body: {
    type: 'object',
    required: ['name', 'categoryId'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 255, pattern: '\\S', plainText: true },
      categoryId: { int64: true },
      status: STATUS,
    },
  },
  response: { 201: Pet },
};

export const placeOrder = {
  body: { type: 'object', required: ['petId'], properties: { petId: { int64: true } } },
  response: { 201: Order },
};

export const submitMessage = {
  body: {
    type: 'object',
    required: ['message'],
    properties: { message: { type: 'string', minLength: 1, maxLength: 65_536, plainText: true } },
  },
  response: { 202: Message },
};

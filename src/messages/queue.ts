/** The queue of messages: a job has the id of its message, and no payload. */
export const QUEUE = 'messages';

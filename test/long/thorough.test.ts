// Tests of properties that every run holds for a few cases, and this one for many.
import '../platform/dto.test.js';
import '../platform/fuzz.test.js';
import '../platform/operations.test.js';

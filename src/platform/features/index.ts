export {
  chooseFeatures,
  Feature,
  type FeatureGuide,
  type FeatureOptions,
  installedFeatures,
  installFeatures,
} from './feature.js';
export { requireOneOfEach } from './packages.js';

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** A certificate for `localhost` that no public authority has signed. Its files are in `folder`. */
export function localCertificate() {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const [keyFile, certFile] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string];
  const request = ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', [...request, ...named, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
  return { folder, certFile, key: readFileSync(keyFile), cert: readFileSync(certFile) };
}

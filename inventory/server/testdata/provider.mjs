// An OpenID Connect provider for tests: oidc-provider of npm with its forms for development, and a new
// signing key at each start. Arguments: the directory of the package, a port, the redirect URL, a JSON
// file with the claims of users by their login, which is read at each login, and where these claims are:
// id-token or userinfo.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [dir, port, redirect, users, where] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(join(dir, 'lib', 'index.js')));

const server = createServer();
server.listen(Number(port), '127.0.0.1', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{ client_id: 'inventory', client_secret: 'the secret of the client', redirect_uris: [redirect] }],
    cookies: { keys: ['a key of a test'] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' }] },
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: where === 'userinfo',
    findAccount: (_, login) => ({
      accountId: login,
      claims: () => ({ sub: login, ...JSON.parse(readFileSync(users, 'utf8'))[login] }),
    }),
  });
  server.on('request', provider.callback());
});

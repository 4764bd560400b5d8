// An OpenID provider on a free port of this machine. It prints `ready <issuer>`.
//
// oidc-provider's own development pages ask for a login and a consent; whatever name is given there is the user, without a password.
// The user `ann` has the address ann@example.com, verified; users whose names begin with `unverified` have theirs unverified.
//
// Environment: REDIRECT_URIS, separated by spaces: where the client `okusuri` may be sent back to.

import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const listener = createServer();
await new Promise((done) => listener.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${listener.address().port}`;

const claims = (sub) => ({
  sub,
  name: sub,
  email: `${sub}@example.com`,
  email_verified: !sub.startsWith('unverified'),
});

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'okusuri',
      client_secret: 'a secret of the test',
      redirect_uris: process.env.REDIRECT_URIS.split(' '),
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => claims(sub) }),
  // A code without PKCE, or with the plain method, is worth nothing here.
  pkce: { required: () => true },
  cookies: { keys: ['a key of the test'] },
});

listener.on('request', provider.callback());
console.log(`ready ${issuer}`);

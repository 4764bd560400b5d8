CREATE TABLE "user" (
    id text PRIMARY KEY, name text, email text UNIQUE, "emailVerified" boolean, image text,
    "createdAt" timestamp DEFAULT now(), "updatedAt" timestamp DEFAULT now(), "deletedAt" timestamp
);
CREATE TABLE session (
    id text PRIMARY KEY, "expiresAt" timestamp, token text UNIQUE, "createdAt" timestamp DEFAULT now(),
    "updatedAt" timestamp DEFAULT now(), "ipAddress" text, "userAgent" text, "userId" text
);
CREATE TABLE account (
    id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text, "accessToken" text, "refreshToken" text, "idToken" text,
    "accessTokenExpiresAt" timestamp, "refreshTokenExpiresAt" timestamp, scope text, password text,
    "createdAt" timestamp DEFAULT now(), "updatedAt" timestamp DEFAULT now()
);
CREATE TABLE verification (
    id text PRIMARY KEY, identifier text, value text, "expiresAt" timestamp, "createdAt" timestamp DEFAULT now(), "updatedAt" timestamp DEFAULT now()
);
CREATE TABLE medication_logs (
    id bigserial PRIMARY KEY, user_id text, has_bleeding boolean, created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(),
    deleted_at timestamptz
);
CREATE TABLE notification_settings (
    id bigserial PRIMARY KEY, user_id text, platform text, is_enabled boolean, subscription text,
    created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), deleted_at timestamptz
);
CREATE TABLE schema_migrations (version text PRIMARY KEY);

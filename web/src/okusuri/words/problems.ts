/** The texts for the problem types of the medication log, in both languages. */
import type { JsonObject } from '../../shared/api.ts';
import type { ProblemWords } from '../../shared/failure.ts';

const attemptsLeft = (members: JsonObject): number | null =>
  typeof members['attemptsLeft'] === 'number' ? members['attemptsLeft'] : null;

/** The waiting time that a problem asks for, such as "41 minutes". */
function waitOf(members: JsonObject, locale: string): string {
  const seconds = typeof members['retryAfterSeconds'] === 'number' ? members['retryAfterSeconds'] : 60;
  const [amount, unit] = seconds < 120 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(amount);
}

export const problemsEn = {
  'not-signed-in': 'You are no longer signed in. Sign in again.',
  'wrong-code': (members: JsonObject) => {
    const left = attemptsLeft(members);
    if (left === null) return 'This code is wrong.';
    return `This code is wrong. You have ${left} ${left === 1 ? 'attempt' : 'attempts'} left.`;
  },
  'code-expired': 'This code has expired or was already used. Request a new one.',
  'code-locked': (members: JsonObject) =>
    `Too many wrong codes. You can request a new code in ${waitOf(members, 'en-GB')}.`,
  'codes-limited': (members: JsonObject) =>
    `Too many codes were requested from your network or across the service. Try again in ${waitOf(members, 'en-GB')}.`,
  'too-many-codes': (members: JsonObject) =>
    `We have sent you 5 codes within the last hour. You can request another one in ${waitOf(members, 'en-GB')}.`,
  'invalid-email': 'Enter a valid email address.',
  'account-not-linked':
    'An account with this email address already exists. Sign in with an email code, then link the provider in Settings.',
  'account-taken': 'This sign-in account is already linked to another user.',
  'last-sign-in-method': 'This is your only sign-in method. Link another one first.',
  'sign-in-again': 'Sign in again to confirm that it is you.',
  'cross-site-request': 'This request came from another website, so it was blocked.',
  'date-in-the-future': 'This date is in the future.',
  'invalid-date': 'This date does not exist.',
  'invalid-note': 'A note can have up to 500 characters.',
  'invalid-time-zone': 'This time zone does not exist. Choose one from the list.',
  'invalid-name': 'This name cannot be used. Enter another one.',
  'medicine-not-found': 'This medicine no longer exists.',
  'log-not-found': 'There is no entry for this day.',
  'too-many-medicines': 'Your list of medicines is full. Remove one first.',
  'medicine-as-needed': 'A medicine as needed cannot be skipped or snoozed.',
  'too-many-doses': 'This medicine has 24 entries on this day already.',
  'no-stock': 'What is left of this medicine is no longer counted.',
  'pack-out-of-order': 'The packs of this medicine were changed meanwhile. Check what is left.',
  'invalid-has-bleeding': 'has_bleeding must be true or false.',
  'invalid-is-taken': 'is_taken must be true or false.',
  'invalid-flow': 'flow must be spotting, light, medium or heavy, and only with bleeding.',
  'invalid-symptoms': 'symptoms contains an unknown or a repeated name.',
  'duplicate-date': 'An earlier line has the same date.',
  'too-many-rows': 'You can import up to 1,000 rows at once.',
  'invalid-endpoint': 'The server cannot reach this browser’s push service. Try another browser.',
  'no-subscription': 'Notifications are not turned on for any of your devices.',
  'provider-not-found': 'This sign-in method is no longer available.',
  'sign-in-declined': 'You did not give permission at the sign-in provider. Nothing was changed.',
  'sign-in-expired': 'Sign-in took too long, or was started in another browser. Try again.',
  'provider-answer-invalid': 'The answer from the sign-in provider could not be verified. Try again.',
  'provider-unavailable': 'The sign-in provider cannot be reached. Try again later, or sign in by email.',
  'account-not-found': 'This account is no longer linked.',
  'session-not-found': 'This device is already signed out.',
  'mail-not-sent': 'The email could not be sent. Try again in a minute.',
  'invalid-code': 'Enter the 6-digit code.',
  'date-too-early': 'This date is too far in the past.',
  'dose-not-found': 'Nothing is recorded for this dose.',
  'too-many-tests': 'A test notification was sent just now. Wait a moment and try again.',
  'invalid-body': 'The server did not accept this data. Check what you entered.',
  'body-too-large': 'This is too much data for one request.',
  busy: 'The server is busy. No data was lost. Try again in a moment.',
  internal: 'Something went wrong on the server. It is safe to try again.',
} satisfies ProblemWords;

export const problemsJa: typeof problemsEn = {
  'not-signed-in': 'サインインの有効期限が切れました。もう一度サインインしてください。',
  'wrong-code': (members) => {
    const left = attemptsLeft(members);
    return left === null ? 'コードが違います。' : `コードが違います。あと${left}回入力できます。`;
  },
  'code-expired': 'コードの有効期限が切れたか、すでに使われています。新しいコードを受け取ってください。',
  'code-locked': (members) => `コードの間違いが続きました。${waitOf(members, 'ja-JP')}後に新しいコードを受け取れます。`,
  'codes-limited': (members) =>
    `お使いのネットワーク、またはサービス全体でコードの送信が多すぎます。${waitOf(members, 'ja-JP')}後にもう一度お試しください。`,
  'too-many-codes': (members) =>
    `コードの送信は1時間に5通までです。次のコードは${waitOf(members, 'ja-JP')}後に受け取れます。`,
  'invalid-email': '正しいメールアドレスを入力してください。',
  'account-not-linked':
    'このメールアドレスのアカウントがすでにあります。メールのコードでサインインし、設定から連携してください。',
  'account-taken': 'このアカウントは、すでにほかのユーザーと連携されています。',
  'last-sign-in-method': 'サインイン方法がこれしかありません。先に別の方法を連携してください。',
  'sign-in-again': '本人確認のため、もう一度サインインしてください。',
  'cross-site-request': '別のサイトから送られたリクエストのため、実行しませんでした。',
  'date-in-the-future': '未来の日付です。',
  'invalid-date': '存在しない日付です。',
  'invalid-note': 'メモは500文字まで入力できます。',
  'invalid-time-zone': '存在しないタイムゾーンです。一覧から選んでください。',
  'invalid-name': 'この名前は使えません。別の名前を入力してください。',
  'medicine-not-found': 'この薬はすでに削除されています。',
  'log-not-found': 'この日の記録はありません。',
  'too-many-medicines': '登録できる薬の数を超えています。先に薬を削除してください。',
  'medicine-as-needed': '必要なときに飲む薬は、スキップやスヌーズができません。',
  'too-many-doses': 'この薬のこの日の記録は、すでに24件あります。',
  'no-stock': 'この薬の残りは、もう数えていません。',
  'pack-out-of-order': 'この薬の箱の数が変わりました。残りを確認してください。',
  'invalid-has-bleeding': 'has_bleeding には true または false を指定してください。',
  'invalid-is-taken': 'is_taken には true または false を指定してください。',
  'invalid-flow': 'flow には spotting、light、medium、heavy のいずれかを、出血のある日だけに指定してください。',
  'invalid-symptoms': 'symptoms に、使えない名前か同じ名前の繰り返しがあります。',
  'duplicate-date': '同じ日付の行が前にあります。',
  'too-many-rows': '一度に取り込めるのは1,000行までです。',
  'invalid-endpoint':
    'サーバーからこのブラウザーのプッシュ通知サービスに接続できません。別のブラウザーでお試しください。',
  'no-subscription': '通知をオンにした端末がありません。',
  'provider-not-found': 'このサインイン方法は使えなくなりました。',
  'sign-in-declined': '連携先で許可されませんでした。何も変更されていません。',
  'sign-in-expired': '時間切れか、別のブラウザーで始められたサインインです。もう一度お試しください。',
  'provider-answer-invalid': '連携先からの応答を確認できませんでした。もう一度お試しください。',
  'provider-unavailable': '連携先に接続できません。時間をおいて試すか、メールでサインインしてください。',
  'account-not-found': 'この連携はすでに解除されています。',
  'session-not-found': 'この端末はすでにサインアウトしています。',
  'mail-not-sent': 'メールを送信できませんでした。1分ほど待ってからもう一度お試しください。',
  'invalid-code': '6桁のコードを入力してください。',
  'date-too-early': '日付が古すぎます。',
  'dose-not-found': 'この服薬の記録はありません。',
  'too-many-tests': 'テスト通知を送信したばかりです。少し待ってからもう一度お試しください。',
  'invalid-body': 'この内容は受け付けられませんでした。入力内容を確認してください。',
  'body-too-large': '一度に送信できる量を超えています。',
  busy: 'サーバーが混み合っています。データは失われていません。少し待ってからもう一度お試しください。',
  internal: 'サーバーで問題が発生しました。もう一度試しても問題ありません。',
};

/** The words of the shop's page. Numbers, money and times arrive already formatted. */
import type { JsonObject } from '../shared/api.ts';
import type { ProblemWords } from '../shared/failure.ts';
import { formatCount } from '../shared/format.ts';
import type { Dictionary } from '../shared/i18n.svelte.ts';

/** A number that a problem tells. */
function told(locale: string, members: JsonObject, name: string): string {
  const value = members[name];
  return typeof value === 'number' ? formatCount(locale, value) : '?';
}

const problemsEn = {
  'product-not-found': 'There is no such product.',
  'product-exists':
    'This product exists already, with another price or stock. Change them on its own page, where they leave a line in the ledger.',
  'invalid-product-id': 'The id may have 1 to 64 letters, digits and the characters . _ -',
  'invalid-price': 'This price is not possible.',
  'invalid-currency': 'There is no such currency.',
  'currency-mismatch': 'The product is priced in another currency, and a product keeps its currency.',
  'insufficient-stock': (members: JsonObject) => {
    const [stock, reserved, available] = ['stock', 'reserved', 'available'].map((name) => told('en-GB', members, name));
    return `Not that many are available: ${stock} in stock, ${reserved} of them reserved, ${available} to take. Nothing was moved.`;
  },
  'reserved-stock': (members: JsonObject) =>
    `${told('en-GB', members, 'reserved')} are promised to orders; the stock cannot fall below that. Nothing was moved.`,
  'stock-overflow': 'The stock would become larger than the ledger can hold. Nothing was moved.',
  'invalid-quantity': 'This quantity is not possible.',
  'order-id-reused': 'This order has already moved goods of this product, in another quantity. Nothing was moved.',
  'idempotency-key-reused': 'The same request was sent before with other contents. Please send it once more.',
  conflict: 'Many changes are being made at once, and this one did not get its turn. Nothing was changed; try again.',
  'invalid-idempotency-key': 'The request had a key that the server does not take. Please send it once more.',
  'missing-token': 'This needs the staff’s token.',
  'invalid-token': 'The staff’s token was not accepted.',
  'expired-cursor': 'This list is too old to go on. Open it again.',
  'invalid-cursor': 'This list cannot go on. Open it again.',
  'body-too-large': 'That is too much text for one request.',
  busy: 'The database is busy. Nothing is lost; try again in a moment.',
  internal: 'Something broke on the server. Trying again is safe: the change is made once.',
} satisfies ProblemWords;

const problemsJa: typeof problemsEn = {
  'product-not-found': 'この商品は見つかりません。',
  'product-exists':
    'この商品はすでにあり、価格か在庫が異なります。変更は商品のページから行ってください。台帳に一行残ります。',
  'invalid-product-id': 'ID は英数字と . _ - を 1〜64 文字で入力してください。',
  'invalid-price': 'この価格は使えません。',
  'invalid-currency': 'この通貨はありません。',
  'currency-mismatch': '商品の通貨が異なります。通貨は途中で変えられません。',
  'insufficient-stock': (members) => {
    const [stock, reserved, available] = ['stock', 'reserved', 'available'].map((name) => told('ja-JP', members, name));
    return `在庫が足りません。在庫${stock}点のうち${reserved}点が引当済み、出せるのは${available}点です。何も動かしていません。`;
  },
  'reserved-stock': (members) =>
    `${told('ja-JP', members, 'reserved')}点が注文に引き当てられているため、それより少なくはできません。何も動かしていません。`,
  'stock-overflow': '台帳に記録できる在庫の上限を超えます。何も動かしていません。',
  'invalid-quantity': 'この数量は使えません。',
  'order-id-reused': 'この注文では、すでに別の数量が動いています。何も動かしていません。',
  'idempotency-key-reused': '同じ要求が別の内容で送られていました。もう一度送ってください。',
  conflict: '変更が集中していて順番が回りませんでした。何も変わっていません。もう一度お試しください。',
  'invalid-idempotency-key': '要求のキーが受け付けられませんでした。もう一度送ってください。',
  'missing-token': 'スタッフ用トークンが必要です。',
  'invalid-token': 'スタッフ用トークンが受け付けられませんでした。',
  'expired-cursor': '一覧が古くなりました。開き直してください。',
  'invalid-cursor': '続きを読み込めません。開き直してください。',
  'body-too-large': '一度に送れる量を超えています。',
  busy: 'データベースが混み合っています。失われたものはありません。少し待ってからお試しください。',
  internal: 'サーバーで問題が起きました。再試行しても変更は一度だけです。',
};

const en = {
  title: 'Shop · Tidemark',
  productTitle: (name: string) => `${name} · Shop · Tidemark`,
  heading: 'Prices and stock, line by line',
  lead: 'Each change of a price and each movement of goods is a line that stays. What you see is what the lines add up to.',
  footer: 'Times are those of your device. The ledgers keep them in UTC, to the nanosecond.',

  products: 'Products',
  newProduct: 'New product',
  moreProducts: 'More products',
  listFailed: 'The products cannot be read',
  noProducts: 'No products yet',
  noProductsStaff: 'With the staff’s token you can create the first one here.',
  noProductsImport: 'Or bring in what you have as CSV. The examples fill an empty shop with most of a year:',
  backToList: 'All products',
  productFailed: 'The product cannot be read',
  notFound: 'There is no such product',
  notFoundDetail: (id: string) => `Nobody has created “${id}” yet, or its address was mistyped.`,
  offlineDetail: 'What you see is what was known last.',

  price: 'Price',
  priceSince: 'since',
  lowest30: (price: string) => `Lowest price of the last 30 days: ${price}.`,
  lowest30Now: 'No lower price in the last 30 days.',
  prior: (price: string, share: string) =>
    `Lowest price in the 30 days before this reduction: ${price} (now ${share}).`,
  allTime: (low: string, high: string) => `Lowest and highest price ever: ${low} and ${high}.`,

  history: 'Price history',
  priceFailed: 'The prices cannot be read',
  presetDays: (days: string) => `${days} days`,
  presetYear: 'Year',
  presetAll: 'All',
  rangeFaults: {
    incomplete: 'Choose both days.',
    upsideDown: 'The first day lies after the last.',
    future: 'These days are still to come.',
  },
  chartHeading: 'What it cost',
  chartLabel: (from: string, to: string, count: string, low: string, high: string) =>
    `Chart: the price in steps, ${from} to ${to}. ${count} changes, between ${low} and ${high}. The table below has all of them.`,
  chartPrice: (currency: string) => `price in ${currency}`,
  chartLowest: (price: string, from: string, until: string) =>
    from === until ? `lowest ${price}, ${from}` : `lowest ${price}, ${from} to ${until}`,
  noPrices: 'Not for sale yet in these days.',
  since: (moment: string) => `since ${moment}`,
  cut: (count: string) => `Shown are the latest ${count} changes of this range.`,
  changes: (count: string) => `The changes as a table (${count})`,
  noChanges: 'No change of the price in this range.',
  showAll: (count: string) => `Show all ${count}`,
  showFewer: 'Show fewer',
  time: 'Time',
  change: 'Change',
  firstPrice: 'first price',
  reason: 'Reason',
  by: 'By',

  stock: 'Stock',
  inStock: 'in stock',
  reserved: 'reserved',
  available: 'available',
  lowLine: (count: string) => `low from ${count}`,
  stockLabel: (stock: string, reserved: string, available: string) =>
    `${stock} in stock, ${reserved} of them reserved, ${available} available`,
  levels: { plenty: 'In stock', low: 'Low stock', none: 'Out of stock' },

  staff: 'For staff',
  staffLead:
    'Prices, goods and who touched them belong to the house, so they need the staff’s token. It is kept until this tab closes.',
  tasks: { price: 'Change the price', stock: 'Move stock', product: 'Edit the product' },
  yourName: 'Your name',
  yourNameHint: 'Stands in the ledger. It stays in this browser.',
  newPrice: (currency: string) => `New price in ${currency}`,
  priceRead: (price: string) => `That is ${price}.`,
  moneyFaults: {
    empty: 'Please write a price.',
    notANumber: 'This is not an amount.',
    negative: 'A price cannot be below zero.',
    ambiguous: 'Is the point for thousands? Then please leave it out.',
    tooPrecise: 'That is finer than the currency’s smallest coin.',
    tooLarge: 'That is more than a price can be.',
  },
  reasonHint: 'For whoever reads the ledger later.',
  setPrice: 'Set the price',
  askZero: (zero: string) => `Is ${zero} right? It makes the product free. Press the button again to confirm.`,
  setZero: 'Yes, make it free',
  createFree: 'Yes, create it free',
  priceSet: (price: string) => `The price is ${price} now.`,
  priceSame: 'That is the price already. Nothing was written.',
  priceNotSet: 'The price was not changed',

  movement: 'What happened',
  movements: { IN: 'Came in', OUT: 'Went out', ADJUST: 'Correction', COUNT: 'Counted' },
  movementHints: {
    IN: 'Goods arrived.',
    OUT: 'Goods left, of those that nobody has reserved.',
    ADJUST: 'So many more, or with a minus fewer, than the ledger says.',
    COUNT: 'Somebody counted, and so many are there.',
  },
  quantity: 'Quantity',
  stockAfter: (before: string, after: string) => `Stock: ${before} → ${after}`,
  wholeFaults: {
    empty: 'Please write a number.',
    notANumber: 'A whole number, please.',
    tooLarge: 'That is more than one movement can be.',
    sign: 'A number above zero, please.',
    zero: 'A correction of nothing is none.',
  },
  orderId: 'Order (optional)',
  orderIdHint: 'An order moves goods once, however often it is sent.',
  orderIdBad: '1 to 64 letters, digits and . _ -',
  moveStock: 'Write it down',
  moved: (stock: string) => `Written. The stock is ${stock} now.`,
  notMoved: 'Nothing was moved',

  productId: 'Id',
  productIdHint: 'Letters, digits and . _ - For ever: it is the product’s address.',
  name: 'Name',
  nameFaults: { empty: 'Please write a name.', tooLong: 'At most 200 characters.', control: 'One line only, please.' },
  currency: 'Currency',
  currencyHint: 'Three letters, such as EUR or JPY. For ever.',
  currencyBad: 'Three letters, please.',
  initialStock: 'In stock',
  threshold: 'Low stock from',
  thresholdHint: 'From so many on, the journal says that it runs low. 0 for never.',
  create: 'Create the product',
  notCreated: 'The product was not created',
  save: 'Save',
  saved: 'Saved.',
  notSaved: 'The product was not changed',

  ledger: 'Ledger',
  ledgerFailed: 'The ledger cannot be read',
  noRows: 'No goods have moved yet.',
  what: 'What',
  before: 'Before',
  after: 'After',
  order: 'Order',

  activities: 'What people did with it',
  activitiesFailed: 'The activities cannot be read',
  noActivities: 'Nothing in these days.',
  activityDays: (days: string) => (days === '1' ? 'Last day' : `${days} days`),
  who: 'Who',
  action: 'Action',
  details: 'Details',

  problems: problemsEn,
};

const ja: typeof en = {
  title: '商品 · Tidemark',
  productTitle: (name) => `${name} · 商品 · Tidemark`,
  heading: '価格と在庫を、一行ずつ',
  lead: '価格の変更も在庫の動きも、一つずつ行として残ります。表示しているのは、その行を積み重ねた結果です。',
  footer: '時刻はこの端末のものです。台帳には UTC でナノ秒まで記録しています。',

  products: '商品一覧',
  newProduct: '商品を追加',
  moreProducts: '続きの商品',
  listFailed: '商品を読み込めません',
  noProducts: '商品はまだありません',
  noProductsStaff: 'スタッフ用トークンがあれば、ここで最初の商品を作れます。',
  noProductsImport: '手元の CSV からも取り込めます。付属の例なら、空の店に一年近い記録が入ります:',
  backToList: '商品一覧へ',
  productFailed: '商品を読み込めません',
  notFound: 'この商品は見つかりません',
  notFoundDetail: (id) => `「${id}」はまだ作られていないか、アドレスが間違っています。`,
  offlineDetail: '表示は最後に読み込めた内容です。',

  price: '価格',
  priceSince: '改定',
  lowest30: (price) => `過去30日間の最低価格 ${price}`,
  lowest30Now: '過去30日間で、これより安い日はありません。',
  prior: (price, share) => `今回の値下げ前30日間の最低価格 ${price}(現在 ${share})`,
  allTime: (low, high) => `これまでの最安値は${low}、最高値は${high}です。`,

  history: '価格の推移',
  priceFailed: '価格を読み込めません',
  presetDays: (days) => `${days}日間`,
  presetYear: '1年',
  presetAll: '全期間',
  rangeFaults: {
    incomplete: '両方の日付を選んでください。',
    upsideDown: '開始日が終了日より後になっています。',
    future: 'まだ来ていない期間です。',
  },
  chartHeading: '価格',
  chartLabel: (from, to, count, low, high) =>
    `グラフ:価格の推移(階段状)、${from}から${to}まで。変更${count}回、${low}から${high}の間。すべての変更は下の表にあります。`,
  chartPrice: (currency) => `価格(${currency})`,
  chartLowest: (price, from, until) =>
    from === until ? `最低 ${price} · ${from}` : `最低 ${price} · ${from}〜${until}`,
  noPrices: 'この期間にはまだ販売していません。',
  since: (moment) => `${moment}から`,
  cut: (count) => `この期間の新しい${count}件を表示しています。`,
  changes: (count) => `変更を表で見る(${count}件)`,
  noChanges: 'この期間に価格の変更はありません。',
  showAll: (count) => `${count}件をすべて表示`,
  showFewer: '表示を減らす',
  time: '日時',
  change: '増減',
  firstPrice: '最初の価格',
  reason: '理由',
  by: '担当',

  stock: '在庫',
  inStock: '在庫',
  reserved: '引当済み',
  available: '販売可能',
  lowLine: (count) => `${count}以下で残りわずか`,
  stockLabel: (stock, reserved, available) => `在庫${stock}点、うち引当済み${reserved}点、販売可能${available}点`,
  levels: { plenty: '在庫あり', low: '残りわずか', none: '在庫切れ' },

  staff: '担当者用',
  staffLead:
    '価格や在庫の変更、その担当者の情報にはスタッフ用トークンが必要です。トークンはこのタブを閉じるまで保持されます。',
  tasks: { price: '価格を変更', stock: '在庫を動かす', product: '商品を編集' },
  yourName: 'あなたの名前',
  yourNameHint: '台帳に残ります。このブラウザーにだけ保存されます。',
  newPrice: (currency) => `新しい価格(${currency})`,
  priceRead: (price) => `${price} になります。`,
  moneyFaults: {
    empty: '価格を入力してください。',
    notANumber: '金額として読み取れません。',
    negative: '価格は0以上にしてください。',
    ambiguous: '「.」が桁区切りなら、除いて入力してください。',
    tooPrecise: 'この通貨の最小単位より細かい金額です。',
    tooLarge: '価格の上限を超えています。',
  },
  reasonHint: 'あとで台帳を読む人のために。',
  setPrice: '価格を変更する',
  askZero: (zero) => `価格は${zero}でよろしいですか。商品は無料になります。よければもう一度ボタンを押してください。`,
  setZero: '無料にする',
  createFree: '無料で登録する',
  priceSet: (price) => `価格は ${price} になりました。`,
  priceSame: 'すでにこの価格です。何も記録していません。',
  priceNotSet: '価格を変更できませんでした',

  movement: '動きの種類',
  movements: { IN: '入庫', OUT: '出庫', ADJUST: '調整', COUNT: '棚卸' },
  movementHints: {
    IN: '商品が届きました。',
    OUT: '引当済みでない在庫から出します。',
    ADJUST: '台帳より多い分を、少ないときはマイナスで。',
    COUNT: '数えたところ、この数がありました。',
  },
  quantity: '数量',
  stockAfter: (before, after) => `在庫 ${before} → ${after}`,
  wholeFaults: {
    empty: '数を入力してください。',
    notANumber: '整数で入力してください。',
    tooLarge: '一度に扱える上限を超えています。',
    sign: '1以上の数を入力してください。',
    zero: '0の調整はできません。',
  },
  orderId: '注文番号(任意)',
  orderIdHint: '同じ注文は、何度送っても一度だけ在庫を動かします。',
  orderIdBad: '英数字と . _ - を 1〜64 文字で。',
  moveStock: '記録する',
  moved: (stock) => `記録しました。在庫は${stock}点です。`,
  notMoved: '在庫は動いていません',

  productId: 'ID',
  productIdHint: '英数字と . _ - で。商品のアドレスになるため、後から変えられません。',
  name: '名前',
  nameFaults: {
    empty: '名前を入力してください。',
    tooLong: '200文字以内にしてください。',
    control: '一行で入力してください。',
  },
  currency: '通貨',
  currencyHint: 'JPY、EUR など三文字で。後から変えられません。',
  currencyBad: '英字三文字で入力してください。',
  initialStock: '在庫数',
  threshold: '残りわずかの基準',
  thresholdHint: 'この数以下になると近況に載ります。0なら載りません。',
  create: '商品を作る',
  notCreated: '商品を作れませんでした',
  save: '保存',
  saved: '保存しました。',
  notSaved: '商品を変更できませんでした',

  ledger: '在庫台帳',
  ledgerFailed: '台帳を読み込めません',
  noRows: '在庫はまだ動いていません。',
  what: '種類',
  before: '前',
  after: '後',
  order: '注文',

  activities: '利用者の動き',
  activitiesFailed: '動きを読み込めません',
  noActivities: 'この期間には何もありません。',
  activityDays: (days) => (days === '1' ? '直近1日' : `${days}日間`),
  who: '利用者',
  action: '動作',
  details: '詳細',

  problems: problemsJa,
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
/** The words in one language. */
export type Words = typeof en;

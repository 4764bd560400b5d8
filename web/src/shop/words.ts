/** The texts of the shop's page. Numbers, money and times are passed in already formatted. */
import type { JsonObject } from '../shared/api.ts';
import type { ProblemWords } from '../shared/failure.ts';
import { formatCount } from '../shared/format.ts';
import type { Dictionary } from '../shared/i18n.svelte.ts';

/** A number from the members of a problem; `?` when it is missing. */
function numberOf(locale: string, members: JsonObject, name: string): string {
  const value = members[name];
  return typeof value === 'number' ? formatCount(locale, value) : '?';
}

const problemsEn = {
  'product-not-found': 'This product does not exist.',
  'product-exists':
    'A product with this ID already exists, with another price or stock. Change them on the page of that product.',
  'invalid-product-id': 'Use 1 to 64 letters, digits and the characters . _ - for the ID.',
  'invalid-price': 'This price is not valid.',
  'invalid-currency': 'This currency does not exist.',
  'product-archived': 'The product is archived. Restore it before you change its price or stock.',
  'currency-mismatch': 'The product has a price in another currency, and its currency cannot be changed.',
  'insufficient-stock': (members: JsonObject) => {
    const [stock, reserved, available] = ['stock', 'reserved', 'available'].map((name) =>
      numberOf('en-GB', members, name),
    );
    return `Not enough stock: ${stock} in stock, ${reserved} reserved, ${available} available. Nothing was changed.`;
  },
  'reserved-stock': (members: JsonObject) =>
    `${numberOf('en-GB', members, 'reserved')} are reserved for orders, so the stock cannot be lower. Nothing was changed.`,
  'stock-overflow': 'The stock would be larger than the maximum. Nothing was changed.',
  'invalid-quantity': 'This quantity is not valid.',
  'order-id-reused':
    'This order has already changed the stock of this product by another quantity. Nothing was changed.',
  'idempotency-key-reused': 'This request was sent before with other values. Submit the form again.',
  conflict: 'Too many changes were made at the same time. Nothing was changed. Try again.',
  'invalid-idempotency-key': 'The server did not accept this request. Submit the form again.',
  'missing-token': 'Enter the staff token to continue.',
  'invalid-token': 'The staff token was not accepted.',
  'expired-cursor': 'This list has been open for too long. Reload the page.',
  'invalid-cursor': 'Could not load the rest of this list. Reload the page.',
  'body-too-large': 'The text is too long for one request. Shorten it.',
  busy: 'The database is busy. Nothing was lost. Try again in a moment.',
  internal: 'Something went wrong on the server. You can safely try again: the change is made only once.',
} satisfies ProblemWords;

const problemsJa: typeof problemsEn = {
  'product-not-found': 'この商品は存在しません。',
  'product-exists':
    'この ID の商品はすでに登録されており、価格か在庫が異なります。変更する場合は、その商品のページで行ってください。',
  'invalid-product-id': 'ID は英数字と . _ - を使い、1〜64文字で入力してください。',
  'invalid-price': 'この価格は使用できません。',
  'invalid-currency': 'この通貨は存在しません。',
  'product-archived': 'この商品はアーカイブされています。価格や在庫を変更するには、先に商品を元に戻してください。',
  'currency-mismatch': '商品に設定された通貨と異なります。商品の通貨は変更できません。',
  'insufficient-stock': (members) => {
    const [stock, reserved, available] = ['stock', 'reserved', 'available'].map((name) =>
      numberOf('ja-JP', members, name),
    );
    return `在庫が足りません(在庫${stock}点、引当済み${reserved}点、販売可能${available}点)。変更は行われていません。`;
  },
  'reserved-stock': (members) =>
    `${numberOf('ja-JP', members, 'reserved')}点が注文に引き当てられているため、在庫をそれより少なくできません。変更は行われていません。`,
  'stock-overflow': '在庫の上限を超えます。変更は行われていません。',
  'invalid-quantity': 'この数量は使用できません。',
  'order-id-reused': 'この注文番号では、この商品の在庫をすでに別の数量で変更しています。変更は行われていません。',
  'idempotency-key-reused': '同じリクエストが別の内容で送信されていました。もう一度送信してください。',
  conflict: '同時に多くの変更が行われたため、変更できませんでした。もう一度お試しください。',
  'invalid-idempotency-key': 'サーバーがリクエストを受け付けませんでした。もう一度送信してください。',
  'missing-token': '続けるにはスタッフ用トークンを入力してください。',
  'invalid-token': 'スタッフ用トークンが正しくありません。',
  'expired-cursor': '一覧を長時間開いていたため、続きを読み込めません。ページを再読み込みしてください。',
  'invalid-cursor': '一覧の続きを読み込めません。ページを再読み込みしてください。',
  'body-too-large': '一度に送信できる文字数を超えています。短くしてください。',
  busy: 'データベースが混み合っています。データは失われていません。しばらくしてからもう一度お試しください。',
  internal: 'サーバーで問題が発生しました。もう一度お試しください。変更が二重に行われることはありません。',
};

const en = {
  title: 'Shop · Tidemark',
  productTitle: (name: string) => `${name} · Shop · Tidemark`,
  heading: 'Product prices and stock',
  lead: 'Every price change and every stock movement is kept in a ledger. This page shows the current state.',
  footer: 'Times are in your device’s time zone. The ledgers use UTC with nanoseconds.',

  products: 'Products',
  newProduct: 'New product',
  moreProducts: 'Load more products',
  listFailed: 'Could not load the products',
  noProducts: 'No products yet',
  noProductsStaff: 'With the staff token, you can create the first product here.',
  noProductsImport: 'You can also import CSV files. The example files hold almost a year of data:',
  archivedProducts: 'Archived products',
  archivedLead:
    'These products are no longer for sale. Their prices and ledgers are kept, and you can restore each product on its own page.',
  noArchived: 'No archived products.',
  archivedSince: (date: string) =>
    `Archived on ${date}. The product is not in the list, and its price and stock cannot be changed.`,
  backToList: 'All products',
  productFailed: 'Could not load the product',
  notFound: 'Product not found',
  notFoundDetail: (id: string) => `There is no product with the ID “${id}”. Check the address.`,
  offlineDetail: 'You see the data that was loaded last.',

  price: 'Price',
  priceSince: 'since',
  lowest30: (price: string) => `Lowest price in the last 30 days: ${price}.`,
  lowest30Now: 'This is the lowest price in the last 30 days.',
  prior: (price: string, share: string) =>
    `Lowest price in the 30 days before this reduction: ${price} (now ${share}).`,
  allTime: (low: string, high: string) => `All-time low: ${low}. All-time high: ${high}.`,

  history: 'Price history',
  priceFailed: 'Could not load the prices',
  presetDays: (days: string) => `${days} days`,
  presetYear: '1 year',
  presetAll: 'All',
  rangeFaults: {
    incomplete: 'Choose both dates.',
    reversed: 'The “From” date must not be after the “To” date.',
    future: 'The “From” date must not be in the future.',
  },
  chartHeading: 'Price over time',
  chartLabel: (from: string, to: string, count: string, low: string, high: string) =>
    `Chart: the price in steps, ${from} to ${to}. ${count} changes, between ${low} and ${high}. The table below lists all of them.`,
  chartPrice: (currency: string) => `price in ${currency}`,
  chartLowest: (price: string, from: string, until: string) =>
    from === until ? `lowest ${price}, ${from}` : `lowest ${price}, ${from} to ${until}`,
  noPrices: 'Not for sale yet in this date range.',
  since: (moment: string) => `since ${moment}`,
  truncated: (count: string) => `Only the latest ${count} changes in this range are shown.`,
  changes: (count: string) => `List of price changes (${count})`,
  noChanges: 'No price changes in this range.',
  showAll: (count: string) => `Show all ${count}`,
  showFewer: 'Show fewer',
  time: 'Time',
  change: 'Change',
  firstPrice: 'first price',
  reason: 'Reason',
  by: 'Changed by',

  stock: 'Stock',
  reserved: 'reserved',
  available: 'available',
  lowLine: (count: string) => `Low-stock level: ${count}`,
  stockLabel: (stock: string, reserved: string, available: string) =>
    `${stock} in stock, ${reserved} of them reserved, ${available} available`,
  levels: { plenty: 'In stock', low: 'Low stock', none: 'Out of stock' },

  staff: 'For staff',
  staffLead:
    'To change prices or stock, or to see who changed them, enter the staff token. It is kept until you close this tab.',
  tasks: { price: 'Change price', stock: 'Change stock', product: 'Edit product', archive: 'Archive' },
  yourName: 'Your name',
  yourNameHint: 'Recorded in the ledger with your changes. This browser remembers it.',
  newPrice: (currency: string) => `New price in ${currency}`,
  priceRead: (price: string) => `You entered ${price}.`,
  moneyFaults: {
    empty: 'Enter a price.',
    notANumber: 'Enter a valid amount.',
    negative: 'The price cannot be negative.',
    ambiguous: 'The point could separate thousands or decimals. Enter the price without thousands separators.',
    tooPrecise: 'This currency has fewer decimal places.',
    tooLarge: 'The price is too high.',
  },
  reasonHint: 'Optional. Recorded in the ledger.',
  setPrice: 'Set price',
  askZero: (zero: string) => `A price of ${zero} makes the product free. Press the button again to confirm.`,
  setZero: 'Yes, make it free',
  createFree: 'Yes, create it as free',
  priceSet: (price: string) => `The price is now ${price}.`,
  priceSame: 'The product already has this price. Nothing was changed.',
  priceNotSet: 'The price was not changed',

  movement: 'Type of movement',
  movements: { IN: 'Received', OUT: 'Removed', ADJUST: 'Adjusted', COUNT: 'Counted' },
  movementHints: {
    IN: 'Adds goods that arrived to the stock.',
    OUT: 'Takes goods that are not reserved out of the stock.',
    ADJUST: 'Enter the difference, with a minus sign if the stock is lower than recorded.',
    COUNT: 'Enter the number that you counted. It replaces the recorded stock.',
  },
  quantity: 'Quantity',
  stockAfter: (before: string, after: string) => `Stock: ${before} → ${after}`,
  wholeFaults: {
    empty: 'Enter a number.',
    notANumber: 'Enter a whole number.',
    tooLarge: 'The number is too large.',
    negative: 'Enter a number without a minus sign.',
    zero: 'Enter a number other than 0.',
  },
  orderId: 'Order ID (optional)',
  orderIdHint: 'The same order changes the stock only once.',
  idBad: 'Use 1 to 64 letters, digits and the characters . _ -',
  moveStock: 'Record movement',
  moved: (stock: string) => `Recorded. The stock is now ${stock}.`,
  notMoved: 'The stock was not changed',

  productId: 'ID',
  productIdHint: 'Use letters, digits and . _ - You cannot change the ID later.',
  name: 'Name',
  nameFaults: {
    empty: 'Enter a name.',
    tooLong: 'Enter at most 200 characters.',
    control: 'The name cannot contain line breaks or control characters.',
  },
  currency: 'Currency',
  currencyHint: 'Three letters, such as EUR or JPY. You cannot change the currency later.',
  currencyBad: 'Enter three letters, such as EUR.',
  initialStock: 'Initial stock',
  threshold: 'Low-stock level',
  thresholdHint: 'A recent event reports when the stock falls to this number. 0 turns this off.',
  create: 'Create product',
  notCreated: 'The product was not created',
  save: 'Save',
  saved: 'Saved.',
  notSaved: 'The product was not changed',

  archiveLead:
    'Archiving removes the product from the list. Its page and ledgers are kept, and reserved orders can still be completed. You can restore it at any time.',
  archive: 'Archive product',
  askArchive: (name: string) => `Archive “${name}”? Press the button again to confirm.`,
  archiveNow: 'Yes, archive it',
  archived: 'Archived.',
  notArchived: 'The product was not archived',
  restoreLead: 'Restoring puts the product back in the list. Its price and stock can then be changed.',
  restore: 'Restore product',
  restored: 'Restored.',
  notRestored: 'The product was not restored',

  ledger: 'Stock ledger',
  ledgerFailed: 'Could not load the ledger',
  noRows: 'No stock movements yet.',
  what: 'Type',
  before: 'Before',
  after: 'After',
  order: 'Order',

  visits: 'Visits',
  visitsFailed: 'Could not load the visits',
  noVisits: (days: string) => `No visits in the last ${days} days.`,
  visitDay: 'Day (UTC)',
  views: 'Views',
  visitors: 'Visitors',
  purchases: 'Purchases',
  mostViewed: 'Most viewed today',
  viewCount: (count: string) => (count === '1' ? '1 view' : `${count} views`),

  activities: 'User activity',
  activitiesFailed: 'Could not load the user activity',
  noActivities: 'No activity in this period.',
  activityDays: (days: string) => (days === '1' ? '24 hours' : `${days} days`),
  who: 'User',
  action: 'Action',
  details: 'Details',

  problems: problemsEn,
};

const ja: typeof en = {
  title: '商品 · Tidemark',
  productTitle: (name) => `${name} · 商品 · Tidemark`,
  heading: '商品の価格と在庫',
  lead: '価格の変更と在庫の増減は、すべて台帳に記録されます。このページには最新の状態を表示しています。',
  footer: '時刻はお使いの端末のタイムゾーンで表示しています。台帳には UTC でナノ秒まで記録しています。',

  products: '商品一覧',
  newProduct: '商品を追加',
  moreProducts: '商品をさらに表示',
  listFailed: '商品を読み込めません',
  noProducts: '商品はまだありません',
  noProductsStaff: 'スタッフ用トークンがあれば、ここで最初の商品を登録できます。',
  noProductsImport: 'CSV ファイルから取り込むこともできます。付属のサンプルには約1年分のデータが入っています:',
  archivedProducts: 'アーカイブした商品',
  archivedLead: '販売を終了した商品です。価格と台帳の記録は残っており、それぞれの商品のページで元に戻せます。',
  noArchived: 'アーカイブした商品はありません。',
  archivedSince: (date) => `${date}にアーカイブしました。一覧には表示されず、価格と在庫は変更できません。`,
  backToList: '商品一覧へ',
  productFailed: '商品を読み込めません',
  notFound: '商品が見つかりません',
  notFoundDetail: (id) => `ID「${id}」の商品はありません。アドレスを確認してください。`,
  offlineDetail: '最後に読み込んだデータを表示しています。',

  price: '価格',
  priceSince: 'から',
  lowest30: (price) => `過去30日間の最低価格は${price}です。`,
  lowest30Now: '過去30日間の最低価格です。',
  prior: (price, share) => `値下げ前30日間の最低価格は${price}です(現在 ${share})。`,
  allTime: (low, high) => `これまでの最低価格は${low}、最高価格は${high}です。`,

  history: '価格の推移',
  priceFailed: '価格を読み込めません',
  presetDays: (days) => `${days}日間`,
  presetYear: '1年間',
  presetAll: '全期間',
  rangeFaults: {
    incomplete: '開始日と終了日を選択してください。',
    reversed: '開始日は終了日以前の日付にしてください。',
    future: '開始日は今日以前の日付にしてください。',
  },
  chartHeading: '価格',
  chartLabel: (from, to, count, low, high) =>
    `グラフ:${from}から${to}までの価格(階段状)。変更${count}回、${low}から${high}の間。すべての変更は下の表にあります。`,
  chartPrice: (currency) => `価格(${currency})`,
  chartLowest: (price, from, until) =>
    from === until ? `最低 ${price} · ${from}` : `最低 ${price} · ${from}〜${until}`,
  noPrices: 'この期間にはまだ販売していません。',
  since: (moment) => `${moment}から`,
  truncated: (count) => `この期間の新しい${count}件だけを表示しています。`,
  changes: (count) => `価格変更の一覧(${count}件)`,
  noChanges: 'この期間に価格の変更はありません。',
  showAll: (count) => `${count}件をすべて表示`,
  showFewer: '一部だけ表示',
  time: '日時',
  change: '増減',
  firstPrice: '最初の価格',
  reason: '理由',
  by: '担当者',

  stock: '在庫',
  reserved: '引当済み',
  available: '販売可能',
  lowLine: (count) => `残りわずかの基準:${count}点`,
  stockLabel: (stock, reserved, available) => `在庫${stock}点、うち引当済み${reserved}点、販売可能${available}点`,
  levels: { plenty: '在庫あり', low: '残りわずか', none: '在庫切れ' },

  staff: 'スタッフ用',
  staffLead:
    '価格や在庫の変更と、変更した担当者の確認には、スタッフ用トークンが必要です。トークンはこのタブを閉じるまで保持されます。',
  tasks: { price: '価格を変更', stock: '在庫を変更', product: '商品を編集', archive: 'アーカイブ' },
  yourName: 'あなたの名前',
  yourNameHint: '変更内容とともに台帳に記録されます。次回のためにこのブラウザーに保存されます。',
  newPrice: (currency) => `新しい価格(${currency})`,
  priceRead: (price) => `入力した価格:${price}`,
  moneyFaults: {
    empty: '価格を入力してください。',
    notANumber: '正しい金額を入力してください。',
    negative: '価格は0以上にしてください。',
    ambiguous: '「.」が桁区切りか小数点か判別できません。桁区切りを付けずに入力してください。',
    tooPrecise: '小数の桁数がこの通貨で使える桁数を超えています。',
    tooLarge: '価格が上限を超えています。',
  },
  reasonHint: '任意です。台帳に記録されます。',
  setPrice: '価格を変更する',
  askZero: (zero) => `価格を${zero}にすると、商品は無料になります。よろしければ、もう一度ボタンを押してください。`,
  setZero: '無料にする',
  createFree: '無料で登録する',
  priceSet: (price) => `価格を ${price} に変更しました。`,
  priceSame: 'すでにこの価格です。変更は行われていません。',
  priceNotSet: '価格を変更できませんでした',

  movement: '在庫変更の種類',
  movements: { IN: '入庫', OUT: '出庫', ADJUST: '調整', COUNT: '棚卸' },
  movementHints: {
    IN: '届いた商品を在庫に加えます。',
    OUT: '引当済みでない商品を在庫から減らします。',
    ADJUST: '増減する数を入力してください。減らす場合はマイナスを付けます。',
    COUNT: '実際に数えた数を入力してください。記録上の在庫がこの数に置き換わります。',
  },
  quantity: '数量',
  stockAfter: (before, after) => `在庫 ${before} → ${after}`,
  wholeFaults: {
    empty: '数を入力してください。',
    notANumber: '整数で入力してください。',
    tooLarge: '数が大きすぎます。',
    negative: 'マイナスを付けずに入力してください。',
    zero: '0以外の数を入力してください。',
  },
  orderId: '注文番号(任意)',
  orderIdHint: '同じ注文番号で在庫が変わるのは一度だけです。',
  idBad: '英数字と . _ - を使い、1〜64文字で入力してください。',
  moveStock: '記録する',
  moved: (stock) => `記録しました。在庫は${stock}点です。`,
  notMoved: '在庫を変更できませんでした',

  productId: 'ID',
  productIdHint: '英数字と . _ - が使えます。ID はあとから変更できません。',
  name: '名前',
  nameFaults: {
    empty: '名前を入力してください。',
    tooLong: '200文字以内で入力してください。',
    control: '改行や制御文字は使用できません。',
  },
  currency: '通貨',
  currencyHint: 'JPY、EUR などの3文字です。あとから変更できません。',
  currencyBad: 'JPY のように英字3文字で入力してください。',
  initialStock: '最初の在庫数',
  threshold: '残りわずかの基準',
  thresholdHint: '在庫がこの数まで減ると「最近のできごと」に表示されます。0にすると表示されません。',
  create: '商品を登録する',
  notCreated: '商品を登録できませんでした',
  save: '保存',
  saved: '保存しました。',
  notSaved: '商品を変更できませんでした',

  archiveLead:
    'アーカイブすると、商品は一覧に表示されなくなります。ページと台帳は残り、引当済みの注文はそのまま出荷できます。いつでも元に戻せます。',
  archive: '商品をアーカイブする',
  askArchive: (name) => `「${name}」をアーカイブしますか。よろしければ、もう一度ボタンを押してください。`,
  archiveNow: 'アーカイブする',
  archived: 'アーカイブしました。',
  notArchived: '商品をアーカイブできませんでした',
  restoreLead: '元に戻すと、商品は再び一覧に表示され、価格と在庫を変更できるようになります。',
  restore: '商品を元に戻す',
  restored: '元に戻しました。',
  notRestored: '商品を元に戻せませんでした',

  ledger: '在庫台帳',
  ledgerFailed: '台帳を読み込めません',
  noRows: '在庫の変更はまだありません。',
  what: '種類',
  before: '変更前',
  after: '変更後',
  order: '注文',

  visits: 'アクセス数',
  visitsFailed: 'アクセス数を読み込めません',
  noVisits: (days) => `過去${days}日間のアクセスはありません。`,
  visitDay: '日付(UTC)',
  views: '閲覧',
  visitors: '訪問者',
  purchases: '購入',
  mostViewed: '今日よく見られている商品',
  viewCount: (count) => `閲覧${count}回`,

  activities: '利用者の操作履歴',
  activitiesFailed: '操作履歴を読み込めません',
  noActivities: 'この期間の操作履歴はありません。',
  activityDays: (days) => (days === '1' ? '24時間' : `${days}日間`),
  who: '利用者',
  action: '操作',
  details: '詳細',

  problems: problemsJa,
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
/** The texts in one language. */
export type Words = typeof en;

/**
 * The colours of the board. Drawings store a colour as its index in this list, so the order must
 * never change.
 *
 * The colours were chosen by a search that keeps any two distinguishable, for normal vision and for
 * the three kinds of dichromacy. A test checks this.
 */
export interface Colour {
  /** `#rrggbb` */
  readonly hex: string;
  readonly name: { readonly en: string; readonly ja: string };
}

/** Two rows of twelve, as in the toolbar: a darker colour below each light one. */
export const PALETTE: readonly Colour[] = [
  { hex: '#ffffff', name: { en: 'White', ja: '白' } },
  { hex: '#c1c0b0', name: { en: 'Light grey', ja: '明るい灰色' } },
  { hex: '#ffd4c7', name: { en: 'Peach', ja: 'うすだいだい' } },
  { hex: '#f07ec0', name: { en: 'Pink', ja: 'ピンク' } },
  { hex: '#d41b48', name: { en: 'Red', ja: '赤' } },
  { hex: '#ff6e0a', name: { en: 'Orange', ja: 'オレンジ' } },
  { hex: '#fcc500', name: { en: 'Yellow', ja: '黄色' } },
  { hex: '#e2f39a', name: { en: 'Pale yellow', ja: 'うすい黄色' } },
  { hex: '#97e27b', name: { en: 'Light green', ja: '黄緑' } },
  { hex: '#5fdfff', name: { en: 'Sky blue', ja: '水色' } },
  { hex: '#1b70ff', name: { en: 'Blue', ja: '青' } },
  { hex: '#a1affc', name: { en: 'Lavender', ja: '藤色' } },
  { hex: '#060d14', name: { en: 'Black', ja: '黒' } },
  { hex: '#7c8b87', name: { en: 'Grey', ja: '灰色' } },
  { hex: '#c1966e', name: { en: 'Tan', ja: '黄土色' } },
  { hex: '#c740c1', name: { en: 'Magenta', ja: '赤紫' } },
  { hex: '#7e2354', name: { en: 'Wine', ja: 'えんじ' } },
  { hex: '#805a03', name: { en: 'Brown', ja: '茶色' } },
  { hex: '#3f1909', name: { en: 'Dark brown', ja: 'こげ茶' } },
  { hex: '#00ae0d', name: { en: 'Green', ja: '緑' } },
  { hex: '#294800', name: { en: 'Dark green', ja: '深緑' } },
  { hex: '#157b80', name: { en: 'Teal', ja: '青緑' } },
  { hex: '#160271', name: { en: 'Navy', ja: '紺' } },
  { hex: '#731ac5', name: { en: 'Purple', ja: '紫' } },
];

/** The colour of the paper and of the eraser. */
export const PAPER = 0;
export const BLACK = 12;

/**
 * The colours of the keys 1 to 9 and 0: black, red, orange, yellow, green, sky blue, blue, purple,
 * brown, white.
 */
export const DIGIT_COLOURS: readonly number[] = [12, 4, 5, 6, 19, 9, 10, 23, 17, 0];

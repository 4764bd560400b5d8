/**
 * The drawings of the bots: made by hand, of words in all built-in lists.
 *
 * The first line has the word in English, Japanese, German, French, Spanish and Portuguese.
 *
 * A drawing is a list of strokes and fills on a grid of 160 by 120. A number sets the colour, and
 * `w20` the width of the pen in board units. `L` is a line through points, `P` a closed one. `S` is
 * a smooth curve through points, `Z` a closed one. `O` is an ellipse: centre and radii, and if it is
 * not whole, its first and last angle in degrees, clockwise from the right. `F` fills around each
 * point. A command with `=` is repeated, mirrored left to right.
 */
import type { Point } from '../board/brush.ts';
import type { Brush } from '../board/outgoing.ts';
import { PRESSURE_NONE } from '../board/protocol.ts';
import type { WordLanguage } from '../protocol.ts';

/** A stroke through points, or a fill at one. Points are in board units. */
export type Mark =
  | { readonly is: 'stroke'; readonly brush: Brush; readonly points: readonly Point[] }
  | { readonly is: 'fill'; readonly colour: number; readonly at: Point };

export interface Drawing {
  readonly word: Record<WordLanguage, string>;
  readonly marks: readonly Mark[];
}

/** Board units of a grid unit, and the distance of the points of a curve. */
const UNIT = 10;
const STEP = 24;

const SCRIPTS = `
sun|たいよう|Sonne|soleil|sol|sol
  5 O80,60,25,25 6 F80,60 5 w26 L80,27 80,8 L80,93 80,112 L=112,60 132,60 L=103,37 117,23 L=103,83 117,97
moon|つき|Mond|lune|luna|lua
  12 S92,18 70,22 54,40 50,62 58,84 76,99 98,101 S98,101 82,90 75,74 74,56 80,34 92,18 6 F60,62
  w8 P124,30 127,38 135,38 129,43 131,51 124,46 117,51 119,43 113,38 121,38 L110,84 110,92 L106,88 114,88
star|ほし|Stern|étoile|estrella|estrela
  12 P80,14 92,48 128,48 99,69 110,104 80,83 50,104 61,69 32,48 68,48 6 F80,60
rainbow|にじ|Regenbogen|arc-en-ciel|arcoíris|arco-íris
  w60 4 O80,98,66,66,180,360 5 O80,98,60,60,180,360 6 O80,98,54,54,180,360 19 O80,98,48,48,180,360
  10 O80,98,42,42,180,360 23 O80,98,36,36,180,360 0 w80 L=14,96 46,96 L=12,102 48,102 12 w14
  Z=6,102 10,90 24,88 34,82 48,88 56,98 48,106 28,108 12,108
umbrella|かさ|Regenschirm|parapluie|paraguas|guarda-chuva
  12 O80,62,52,46,180,360 O41,62,13,7,180,360 O67,62,13,7,180,360 O93,62,13,7,180,360
  O119,62,13,7,180,360 S=80,16 60,36 54,62 L80,16 80,8 w24 L80,56 80,98 O88,98,8,8,180,0 w14 L80,16 80,56
  4 F=40,48 6 F=70,44
house|いえ|Haus|maison|casa|casa
  12 P45,58 115,58 115,106 45,106 P36,58 80,20 124,58 P73,106 73,80 87,80 87,106 P=52,68 65,68 65,81 52,81
  L100,37 100,20 111,20 111,47 4 F80,45 2 F80,70 17 F80,95 9 F=58,74 13 F105,30 19 w30 L10,108 42,108 L118,108 150,108
tree|き|Baum|arbre|árbol|árvore
  12 S71,74 71,92 64,110 S89,74 89,92 96,110 S64,110 80,106 96,110 Z80,12 102,18 116,36 112,58 96,74 64,74 48,58
  44,36 58,18 17 F80,92 19 F80,40
apple|りんご|Apfel|pomme|manzana|maçã
  12 Z80,42 95,34 112,40 118,60 110,85 94,102 80,98 66,102 50,85 42,60 48,40 65,34 17 w26 S80,42 82,30 88,20
  12 w14 Z89,26 100,15 114,17 104,29 4 F80,70 19 F102,22 0 w30 S54,62 55,54 60,48
banana|ばなな|Banane|banane|plátano|banana
  12 S36,36 42,64 64,86 96,92 126,78 S126,78 100,74 76,64 60,48 50,34 L50,34 47,20 37,21 36,36 6 F64,70
  17 w60 L42,24 43,27 12 w8 S43,38 52,62 74,78 100,83
cherry|さくらんぼ|Kirsche|cerise|cereza|cereja
  12 O58,88,19,18 O104,92,19,18 19 w20 S60,71 68,46 92,20 S103,75 99,48 92,20 12 w14
  Z93,20 108,10 128,16 112,28 4 F58,88 F104,92 19 F110,19 0 w24 L50,82 52,80 L96,86 98,84
watermelon|すいか|Wassermelone|pastèque|sandía|melancia
  12 O80,38,60,60,0,180 L20,38 140,38 O80,38,50,50,0,180 19 F80,93 4 F80,60 12 w24 L62,52 61,56
  L80,50 80,54 L98,52 99,56 L52,64 52,60 L70,68 70,72 L90,68 90,72 L108,60 108,64 L80,80 80,76
carrot|にんじん|Karotte|carotte|zanahoria|cenoura
  12 Z62,42 72,36 88,36 98,42 94,70 80,112 66,70 5 F80,48 12 w10 L65,58 77,58 L96,68 84,70 L70,82 79,82
  L84,92 88,90 19 w30 L80,34 80,8 L=78,34 66,12 L=78,34 54,20
mushroom|きのこ|Pilz|champignon|seta|cogumelo
  12 O80,60,50,44,180,360 S30,60 80,70 130,60 S66,68 66,88 58,106 S94,68 94,88 102,106 S58,106 80,112 102,106
  O60,44,9,8 O92,34,10,9 O112,54,7,6 O80,56,6,5 4 F50,58 2 F80,88
fried egg|めだまやき|Spiegelei|œuf au plat|huevo frito|ovo frito
  12 O78,62,58,50 12 w60 L138,62 158,62 w14 Z40,50 58,28 90,28 118,42 122,70 102,94 70,98 42,84
  O80,62,17,16 6 F80,62 13 F78,18 0 w20 L72,56 76,53
donut|どーなつ|Donut|beignet|rosquilla|rosquinha
  12 O80,60,48,42 O80,60,16,13 Z80,24 104,28 120,46 118,64 108,68 100,82 86,80 76,90 62,80 52,80 48,68 40,64
  42,46 58,28 14 F80,98 3 F80,36 10 w18 L60,40 66,44 L110,58 106,62 6 L92,34 98,30 L54,60 60,58 19 L84,40 76,38
  L98,72 94,66 0 L70,72 72,66 L110,48 106,44
pizza|ぴざ|Pizza|pizza|pizza|pizza
  12 S36,34 80,22 124,34 L36,34 80,114 124,34 6 F80,60 17 w70 S36,33 80,21 124,33 12 w12 O66,52,9,9
  O96,54,9,9 O80,82,8,8 4 F66,52 F96,54 F80,82
hamburger|はんばーがー|Hamburger|hamburger|hamburguesa|hambúrguer
  12 O80,52,48,38,180,360 L32,52 128,52 14 F80,35 19 w40 S28,60 40,64 54,57 67,65 80,58 93,65
  106,57 120,64 132,60 16 w80 L38,72 122,72 6 w20 L34,79 126,79 12 w14 S34,86 40,102 80,105 120,102 126,86 L34,86 126,86
  14 F80,95 0 w18 L60,34 63,33 L80,26 83,26 L98,34 101,35 L72,42 75,42 L92,44 95,44 L50,44 53,43
ice cream|あいすくりーむ|Eis|glace|helado|sorvete
  12 O80,42,30,28,150,390 L54,56 106,56 80,114 P54,56 106,56 80,114 3 F80,40 14 F80,75
  17 w10 L62,58 90,92 L78,58 97,76 L98,58 70,92 L82,58 63,76 12 w12 O80,10,7,7 4 F80,10
cat|ねこ|Katze|chat|gato|gato
  12 O80,68,42,36 L=47,46 42,12 70,33 5 F80,42 3 F=52,32 12 w26 L=63,60 63,67 w14 P74,74 86,74 80,80 3 F80,76
  12 w10 S=80,80 75,89 66,86 L=52,76 20,70 L=52,82 22,88 17 w20 L80,36 80,48 L=70,38 71,47
rabbit|うさぎ|Hase|lapin|conejo|coelho
  12 O80,80,34,28 Z=68,56 56,32 58,8 68,6 74,28 76,54 3 F=64,30 12 w26 L=67,74 67,80 w14 P75,84 85,84 80,89
  3 F80,86 12 w10 S=80,89 76,96 68,94 L=56,86 32,82 L=56,90 34,94 0 w30 F80,100
bear|くま|Bär|ours|oso|urso
  12 O80,68,42,36 O=48,38,15,15,102,352 17 F80,45 F=44,34 12 O80,84,18,14 14 F80,94 12 w34 L76,78 84,78
  w28 L=64,62 64,64 w10 L80,80 80,88 S=80,88 74,93 70,90
pig|ぶた|Schwein|cochon|cerdo|porco
  12 O80,66,42,37 L=47,43 40,16 65,32 O80,78,18,13 3 F80,45 F=52,32 2 F80,78 12 w26 L=74,76 74,80
  w24 L=62,58 62,61 w10 S72,95 80,98 88,95
mouse|ねずみ|Maus|souris|ratón|rato
  12 O80,72,34,32 O=44,36,22,22,75,385 13 F80,50 F=40,30 3 w80 L=42,34 44,38 12 w24 L=68,66 68,69
  3 w40 L79,82 81,82 12 w10 L=66,84 36,78 L=66,88 38,94 S=80,85 76,92 70,90
penguin|ぺんぎん|Pinguin|manchot|pingüino|pinguim
  12 O80,64,36,48 O80,76,24,34 O=70,34,6,7 P73,44 87,44 80,54 S=47,50 28,74 30,88 S=30,88 40,84 46,78
  22 F80,22 F=38,72 5 F80,46 12 w22 L=71,35 71,37 5 w60 L=58,113 68,113
snail|かたつむり|Schnecke|escargot|caracol|caracol
  12 O94,58,34,32 S94,60 102,56 104,66 94,74 80,66 80,50 96,40 114,50 116,70 S63,72 52,86 44,76 38,58 26,58
  22,70 30,94 56,104 110,104 140,104 124,88 116,83 14 F40,88 17 F94,32 12 L27,58 20,38 L36,57 40,38 w24 L30,68 30,69
snake|へび|Schlange|serpent|serpiente|serpente
  19 w70 S22,96 40,84 58,96 78,104 98,92 92,72 70,66 64,48 82,36 110,38 126,30 20 w20 L40,88 40,90
  L60,96 60,98 L80,103 80,105 L96,84 98,86 L80,70 80,72 L66,54 68,56 L86,36 88,38 4 w12 L130,29 144,24 150,18 L144,24 152,26
  12 w18 L122,29 123,29
butterfly|ちょう|Schmetterling|papillon|mariposa|borboleta
  12 w14 Z=77,58 62,30 32,20 22,42 40,62 Z=77,66 46,68 34,88 52,104 70,88 5 F=44,42 3 F=54,84
  12 w44 L80,42 80,92 w12 S=80,40 74,24 60,16 10 w44 L=40,38 42,40 6 w34 L=52,86 53,88
whale|くじら|Wal|baleine|ballena|baleia
  12 Z22,72 30,50 58,38 92,48 112,62 122,50 116,34 128,36 134,42 142,34 152,38 140,58 126,80 96,98 56,100 30,92
  10 F60,60 12 w10 S24,80 50,86 80,90 104,92 9 F60,93 12 w26 L44,66 44,68 9 w16 S60,34 60,22 48,12 S60,34 62,22 76,12
turtle|かめ|Schildkröte|tortue|tortuga|tartaruga
  12 O76,74,44,44,180,360 L32,74 120,74 O132,60,15,12 L46,74 42,94 60,94 62,74 L92,74 94,94 112,94 108,74
  L32,74 20,82 38,74 19 F76,50 8 F52,84 F102,84 F134,60 20 w10 L76,32 76,72 L54,40 48,72 L98,40 104,72 S36,58 76,52 116,58
  12 w20 L136,57 137,57
crab|かに|Krebs|crabe|cangrejo|caranguejo
  12 O80,72,36,24 L=70,50 66,32 S=48,62 34,56 32,40 Z=24,40 14,24 24,10 30,24 42,8 48,26 42,40 4 F80,72 F=30,32
  12 L=48,84 26,84 18,96 L=54,90 36,98 30,110 L=46,76 24,70 14,78 w44 L=65,28 66,30 w10 S70,78 80,84 90,78
octopus|たこ|Tintenfisch|pieuvre|pulpo|polvo
  4 w44 S=74,74 66,96 50,108 S=66,70 46,86 26,90 S=60,62 36,66 18,58 S=78,76 78,98 70,114 12 w14 O80,42,36,36
  4 F80,20 12 O=68,40,8,9 0 F=68,40 12 w26 L=69,41 69,43 w20 O80,62,6,5
jellyfish|くらげ|Qualle|méduse|medusa|água-viva
  12 O80,52,40,38,180,360 S40,52 50,58 60,52 70,58 80,52 90,58 100,52 110,58 120,52 3 F80,30
  15 w18 S50,60 44,76 54,90 48,110 S70,60 64,76 74,92 68,112 S90,60 84,76 94,92 88,112 S110,60 104,76 114,90 108,110
  12 w22 L=68,38 68,41 w10 S74,45 80,48 86,45
car|くるま|Auto|voiture|coche|carro
  12 L30,90 16,90 16,68 42,62 60,40 104,40 124,62 144,68 144,90 129,90 L62,90 98,90 O46,90,15,15 O114,90,15,15
  P62,62 70,48 82,48 82,62 P90,62 90,48 101,48 112,62 4 F80,76 13 F46,90 F114,90 9 F76,56 F96,56
bus|ばす|Bus|bus|autobús|ônibus
  12 L36,94 20,94 20,28 140,28 140,94 126,94 L62,94 100,94 O49,94,13,13 O113,94,13,13 P28,40 48,40 48,58 28,58
  P56,40 76,40 76,58 56,58 P84,40 104,40 104,58 84,58 P112,40 132,40 132,78 112,78 6 F80,75 9 F38,50 F66,50 F94,50 F122,60
  13 F49,94 F113,94
ship|ふね|Schiff|bateau|barco|navio
  12 P20,72 140,72 120,104 40,104 P54,72 54,52 106,52 106,72 P72,52 72,26 88,26 88,52 O64,62,4,4 O80,62,4,4
  O96,62,4,4 10 F80,90 4 F80,40 13 w30 S80,18 88,12 84,6 96,4 9 w30 S8,110 24,104 40,110 56,104 72,110 88,104 104,110
  120,104 136,110 152,104
rocket|ろけっと|Rakete|fusée|cohete|foguete
  12 S80,8 98,36 98,84 S80,8 62,36 62,84 L62,84 98,84 O80,46,10,10 L=62,62 42,88 42,102 62,84
  S68,84 70,102 80,116 90,102 92,84 1 F80,70 9 F80,46 4 F=50,86 6 F80,98
balloon|ふうせん|Luftballon|ballon de baudruche|globo|balão
  12 O80,44,32,36 P80,80 74,88 86,88 S80,88 74,98 84,106 78,118 4 F80,40 F80,85 0 w26 S64,34 67,26 74,20
candle|ろうそく|Kerze|bougie|vela|vela
  12 P66,50 94,50 94,102 66,102 L80,50 80,42 Z80,12 91,30 80,42 69,30 S40,102 54,112 106,112 120,102
  L40,102 120,102 6 F80,30 11 F80,80 13 F80,107
light bulb|でんきゅう|Glühbirne|ampoule|bombilla|lâmpada
  12 O80,48,30,30,125,415 L63,73 67,86 93,86 97,73 P67,86 93,86 93,106 67,106 6 F80,40 1 F80,96 12 w10
  L67,93 93,93 L67,99 93,99 S72,106 80,112 88,106 5 w22 L=44,26 32,16 L80,10 80,2 L=40,50 24,50
clock|とけい|Wanduhr|horloge|reloj|relógio
  12 w24 O80,60,48,48 w14 L80,18 80,25 L80,102 80,95 L=122,60 115,60 w24 L80,60 80,34 L80,60 100,72 w8
  L=101,24 98,29 L=116,39 111,42 L=101,96 98,91 L=116,81 111,78
glasses|めがね|Brille|lunettes|gafas|óculos
  12 w24 O=54,62,23,20 S77,60 80,56 83,60 L=31,58 14,42 9 F=54,62 0 w16 L=44,58 52,50
hat|ぼうし|Hut|chapeau|sombrero|chapéu
  12 P54,84 54,22 106,22 106,84 P54,66 106,66 106,84 54,84 13 F80,45 4 F80,75 12 w60 L28,88 132,88
key|かぎ|Schlüssel|clé|llave|chave
  12 O44,60,24,24 O38,60,9,9 L67,54 140,54 140,80 129,80 129,66 121,66 121,76 111,76 111,66 67,66 6 F56,60 F90,60
scissors|はさみ|Schere|ciseaux|tijera|tesoura
  13 w44 L=68,78 102,14 4 w30 O=56,94,15,16 12 w26 L80,56 80,57
pencil|えんぴつ|Bleistift|crayon|lápiz|lápis
  12 P40,80 90,30 104,44 54,94 L40,80 33,101 54,94 L90,30 97,23 111,37 104,44 6 F70,64 3 F100,34 2 F42,91
  12 w26 L34,100 37,97
book|ほん|Buch|livre|libro|livro
  12 S80,34 58,24 26,30 L26,30 26,92 S26,92 58,86 80,96 S80,34 102,24 134,30 L134,30 134,92 S134,92 102,86 80,96
  L80,34 80,96 w8 L=36,44 70,44 L=36,54 70,54 L=36,64 70,64 L=36,74 70,74
chair|いす|Stuhl|chaise|silla|cadeira
  12 P52,14 60,14 60,60 52,60 P52,14 60,14 60,60 52,60 P52,60 112,60 112,70 52,70 L52,70 52,108 L60,70 60,108
  L104,70 104,108 L112,70 112,108 L52,108 60,108 L104,108 112,108 17 F56,40 F80,65 F56,90 F108,90
ladder|はしご|Leiter|échelle|escalera de mano|escadote
  17 w26 L58,8 58,114 L102,8 102,114 L58,22 102,22 L58,40 102,40 L58,58 102,58 L58,76 102,76 L58,94 102,94
flag|はた|Flagge|drapeau|bandera|bandeira
  17 w30 L42,10 42,114 12 w14 S44,16 68,10 92,20 122,14 L122,14 122,64 S44,66 68,60 92,70 122,64 4 F80,40
tent|てんと|Zelt|tente|tienda de campaña|barraca
  12 P80,22 20,102 140,102 L80,22 62,102 L80,22 98,102 5 F50,92 F110,92 20 F80,80 19 w30 L6,106 154,106
snowman|ゆきだるま|Schneemann|bonhomme de neige|muñeco de nieve|boneco de neve
  12 O80,86,32,27 O80,38,21,20 P66,20 66,2 94,2 94,20 w22 L56,21 104,21 13 F80,10 5 P80,38 100,43 80,46 F85,42
  4 w44 S62,57 80,62 98,57 17 w18 L=52,76 26,58 12 w24 L=72,34 72,35 L80,76 80,77 L80,88 80,89
mountain|やま|Berg|montagne|montaña|montanha
  12 L18,102 62,26 98,26 142,102 L6,102 154,102 L48,50 58,60 69,50 80,62 91,50 102,60 112,50 19 F80,85
  5 w14 O132,22,11,11 6 F132,22
cactus|さぼてん|Kaktus|cactus|cactus|cacto
  19 w80 L80,90 80,22 w54 S78,74 54,72 50,44 S82,66 106,64 110,38 20 w10 L74,30 72,34 L86,44 88,48 L74,58 72,62
  L86,72 88,76 12 w14 P58,92 102,92 96,116 64,116 5 F80,104 3 w40 L76,16 84,16
eye|め|Auge|œil|ojo|olho
  12 S22,62 50,36 80,28 110,36 138,62 S22,62 50,84 80,90 110,84 138,62 O80,60,22,22 O80,60,9,9 17 F66,60 12 F80,60
  L=46,37 38,24 L=62,31 57,16 L80,28 80,12 0 w20 L76,55 77,54
traffic light|しんごう|Ampel|feu tricolore|semáforo|semáforo
  12 P58,6 102,6 102,96 58,96 O80,24,12,12 O80,51,12,12 O80,78,12,12 13 F62,12 4 F80,24 6 F80,51
  19 F80,78 12 w34 L80,98 80,118
`;

/** Every drawing. A line that begins without a space begins one. */
export const DRAWINGS: readonly Drawing[] = SCRIPTS.trim()
  .split(/\n(?! )/)
  .map((script) => {
    const [names = '', marks = ''] = script.split(/\n([^]*)/);
    const [en = '', ja = '', de = '', fr = '', es = '', pt = ''] = names.split('|');
    return { word: { ja, en, de, fr, es, pt }, marks: marksOf(marks) };
  });

function marksOf(script: string): Mark[] {
  const marks: Mark[] = [];
  let [colour, width] = [12, 14];
  for (const [, command, mirrored, text = ''] of script.matchAll(
    /([A-Z]|w|(?=\d))(=?)(\d[\d.,]*(?:\s+\d[\d.]*,[\d.,]*)*)/g,
  )) {
    const numbers = text.split(/[\s,]+/).map(Number);
    if (command === '') colour = numbers[0] ?? colour;
    else if (command === 'w') width = numbers[0] ?? width;
    else {
      for (const isMirrored of mirrored === '=' ? [false, true] : [false]) {
        const points = pathOf(command ?? '', numbers).map(([x, y]) => onBoard(isMirrored ? 160 - x : x, y));
        const brush: Brush = { tool: 'pen', colour, width };
        if (command === 'F') marks.push(...points.map((at) => ({ is: 'fill', colour, at }) as const));
        else marks.push({ is: 'stroke', brush, points });
      }
    }
  }
  return marks;
}

function onBoard(x: number, y: number): Point {
  return { x: Math.round(x * UNIT), y: Math.round(y * UNIT), pressure: PRESSURE_NONE };
}

type Place = readonly [x: number, y: number];

/** The points of a command, on the grid. */
function pathOf(command: string, numbers: readonly number[]): Place[] {
  const places = numbers.flatMap((x, index): Place[] => (index % 2 === 0 ? [[x, numbers[index + 1] ?? 0]] : []));
  switch (command) {
    case 'O': {
      const [x = 0, y = 0, across = 0, down = 0, from = 0, to = 360] = numbers;
      const steps = Math.ceil(((Math.abs(to - from) / 180) * Math.PI * Math.max(across, down) * UNIT) / STEP);
      return Array.from({ length: steps + 1 }, (_, step) => {
        const angle = ((from + ((to - from) * step) / steps) / 180) * Math.PI;
        return [x + across * Math.cos(angle), y + down * Math.sin(angle)];
      });
    }
    case 'L':
      return lines(places);
    case 'P':
      return lines([...places, ...places.slice(0, 1)]);
    case 'S':
      return smooth(places, (index) => places[Math.min(Math.max(index, 0), places.length - 1)]);
    case 'Z':
      return smooth([...places, ...places.slice(0, 1)], (index) => places.at(index % places.length));
    default:
      return places;
  }
}

/** Straight lines, with so many points that the board does not round their corners. */
function lines(places: readonly Place[]): Place[] {
  return places.flatMap((to, index) => {
    const from = places[index - 1] ?? to;
    const steps = Math.max(1, Math.ceil((Math.hypot(to[0] - from[0], to[1] - from[1]) * UNIT) / STEP));
    const share = (axis: 0 | 1, step: number): number => from[axis] + ((to[axis] - from[axis]) * step) / steps;
    return Array.from({ length: steps }, (_, step): Place => [share(0, step + 1), share(1, step + 1)]);
  });
}

/** A Catmull-Rom curve through the places. `at` also knows the neighbours of both ends. */
function smooth(places: readonly Place[], at: (index: number) => Place | undefined): Place[] {
  const curve = places.slice(0, 1);
  for (let index = 0; index + 1 < places.length; index++) {
    const [a = [0, 0], b = [0, 0], c = [0, 0], d = [0, 0]] = [-1, 0, 1, 2].map((offset) => at(index + offset));
    const steps = Math.max(1, Math.ceil((Math.hypot(c[0] - b[0], c[1] - b[1]) * UNIT) / STEP));
    for (let step = 1; step <= steps; step++) {
      const t = step / steps;
      const between = (axis: 0 | 1): number => {
        const [p, q, r, s] = [a[axis], b[axis], c[axis], d[axis]];
        return q + 0.5 * t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)));
      };
      curve.push([between(0), between(1)]);
    }
  }
  return curve;
}

// Types of the messages between session and page, and of what the views draw.

type Point = [number, number];
type Edge = [number, string, number]; // indices of variables, and a mark
type Pair = [number, number];
type Curve = { points: Point[]; bend: number; spot?: Point; wide?: Point };
type Curves = Record<string, Curve>; // by "a,mark,b"

type Knowledge = { required: Edge[]; forbidden: Edge[]; tiers: number[][]; unconfounded: number[] };
type Estimate = {
  estimate: number; se: number; low: number; high: number; p_value: number; standardized: number;
};
type Fit = Record<"score" | "chi2" | "df" | "p_value" | "rmsea" | "cfi" | "srmr" | "n", number> & {
  test: string; warnings: string[]; residuals: (number | null)[][];
};
type State = {
  version: number; moves: number; graph: Edge[]; knowledge: Knowledge; curves: Curves;
  fit: Fit | null; edges: Estimate[] | null; problem: string | null; penalty: number;
  undo: string | null; redo: string | null; chosen_on_data: boolean; effect: Pair | null;
  change: { description: string; score: number | null };
};
type Positions = { moves: number; centers: Point[]; bands: Pair[]; curves: Curves };
type Shares = { of: string; rows: [number, string, number, number][] };
type Effect = {
  causal: number[]; biasing: number[]; all_paths: boolean; strip: number[]; problem?: string;
  adjustment: { names: number[]; optimal: boolean; everywhere: boolean }[];
  instruments: [number, number[]][]; members: number | string; complete: boolean;
} & Record<"estimate" | "low" | "high" | "lower" | "upper" | "nonzero", number>;
type Job = { number: number; kind: string; progress: any; stopping: boolean };
type Variables = { names: string[]; labels: string[]; sizes: Point[] };
type Details = {
  knowledge: Knowledge; estimates?: Estimate[] | null; shares?: Shares | null; curves?: Curves;
  ends?: string[][] | null; differs?: (string | null)[] | null; suggestions?: any[];
  question?: Pair | null; paths?: Effect | null;
};
// Attributes of an element; those that start with "on" are listeners.
type Attributes = { [listener: `on${string}`]: (event: any) => void; [name: string]: any };
// What the canvas asks of the page.
type Actions = {
  say(text: string): void;
  draw(a: number, mark: string, b: number): void;
  move(v: number, x: number, y: number): void;
  edgeMenu(k: number, point: Point): void;
  nodeMenu(v: number, point: Point): void;
  pairMenu(a: number, b: number, point: Point): void;
  edgeKey(k: number, event: any): boolean;
  suggestion(edge: Edge): void;
};
type Transport = {
  lost: string;
  hint?: string; // shown first
  ask(message: object): Promise<any>;
  listen(receive: (message: any) => void, connected: (connected: boolean) => void): void;
  close(): void;
};

// @ts-check
import { open } from "./workbench.js";

open(document.body, "./");

// The rules for the dashboard's modules. They run in browsers alone, and no text that
// came from somewhere may become code or markup there.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    files: ["**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "eqeqeq": ["error", "always", { null: "ignore" }],
      "no-alert": "error",
      "no-console": ["error", { allow: ["error", "warn"] }],
      "no-constructor-return": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Markup is made of elements and text, never of strings." },
        { property: "outerHTML", message: "Markup is made of elements and text, never of strings." },
        { property: "insertAdjacentHTML", message: "Markup is made of elements and text, never of strings." },
        { object: "document", property: "write", message: "Markup is made of elements and text, never of strings." },
      ],
      "no-script-url": "error",
      "no-self-compare": "error",
      "no-shadow": ["error", { hoist: "never" }],
      "no-throw-literal": "error",
      "no-unreachable-loop": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
];

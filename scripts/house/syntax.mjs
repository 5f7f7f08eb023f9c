// @ts-check
// What TypeScript's syntax trees (oxc, by way of Vite) need before anything can be said of them: where names are declared and what they mean.

/**
 * A node of a syntax tree (ESTree with TypeScript).
 * @typedef {{ type: string, start: number, end: number, [key: string]: any }} Node
 */

/**
 * A declared name. `node` is what declares it: a declarator, a function, a class, a specifier of an import, or the function whose parameter it is.
 * @typedef {{ name: string, kind: 'import' | 'module' | 'local' | 'parameter', node: Node }} Binding
 */

/**
 * Called for each reference to a name; `trail` are the nodes around it, outermost first.
 * @callback OnReference
 * @param {Binding | undefined} binding undefined: a global
 * @param {Node} identifier
 * @param {readonly Node[]} trail
 */

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const TYPE_KEYS = new Set([
  'typeAnnotation',
  'typeParameters',
  'typeArguments',
  'superTypeArguments',
  'returnType',
  'implements',
]);
/** Expressions with a type beside them. */
const TYPED_EXPRESSIONS = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
  'TSParameterProperty',
]);

/** @param {Node} node */
export function isFunction(node) {
  return FUNCTIONS.has(node.type);
}

/**
 * The expression itself, without `as`, `satisfies`, `!`, parentheses and the chain around `?.`.
 * @param {Node} node
 * @returns {Node}
 */
export function bare(node) {
  if (TYPED_EXPRESSIONS.has(node.type) || node.type === 'ParenthesizedExpression')
    return bare(node.expression);
  return node.type === 'ChainExpression' ? bare(node.expression) : node;
}

/**
 * The nodes below that say what happens; types and the names of properties say nothing.
 * @param {Node} node
 * @returns {Node[]}
 */
export function childrenOf(node) {
  const found = [];
  for (const [key, value] of Object.entries(node)) {
    if (value === null || typeof value !== 'object' || TYPE_KEYS.has(key) || isMereName(node, key)) continue;
    for (const child of Array.isArray(value) ? value : [value]) if (isCode(child)) found.push(child);
  }
  return found;
}

/**
 * @param {any} child
 * @returns {child is Node}
 */
function isCode(child) {
  if (typeof child?.type !== 'string') return false;
  return !child.type.startsWith('TS') || TYPED_EXPRESSIONS.has(child.type);
}

/**
 * @param {Node} node
 * @param {string} key
 */
function isMereName(node, key) {
  if (key === 'label') return true;
  if (key === 'property') return node.type === 'MemberExpression' && !node.computed;
  return key === 'key' && !node.computed;
}

/**
 * The names that a pattern declares.
 * @param {Node | null} pattern
 * @returns {string[]}
 */
export function namesIn(pattern) {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((/** @type {Node} */ entry) =>
        namesIn(entry.type === 'RestElement' ? entry.argument : entry.value),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap(namesIn);
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'RestElement':
      return namesIn(pattern.argument);
    case 'TSParameterProperty':
      return namesIn(pattern.parameter);
    default:
      return [];
  }
}

/**
 * What the statements of one block declare.
 * @param {readonly Node[]} statements
 * @returns {Array<{ name: string, node: Node }>}
 */
export function declarationsIn(statements) {
  return statements.flatMap((statement) => {
    const node = statement.declaration ?? statement;
    if (node.type === 'VariableDeclaration')
      return node.declarations.flatMap((/** @type {Node} */ one) =>
        namesIn(one.id).map((name) => ({ name, node: one })),
      );
    const isNamed = /^(Function|Class)Declaration$/.test(node.type) && node.id;
    return isNamed ? [{ name: node.id.name, node }] : [];
  });
}

/** Names by scope, innermost last. */
class Scopes {
  /** @type {Array<Map<string, Binding>>} */
  #open = [];

  /** @param {Node} node */
  enter(node) {
    const names = new Map(bindingsOf(node).map((binding) => [binding.name, binding]));
    this.#open.push(names);
  }

  leave() {
    this.#open.pop();
  }

  /** @param {string} name */
  find(name) {
    for (let index = this.#open.length - 1; index >= 0; index -= 1) {
      const found = this.#open[index]?.get(name);
      if (found) return found;
    }
    return undefined;
  }
}

const SCOPES = new Set([
  ...['Program', 'BlockStatement', 'StaticBlock', 'SwitchStatement', 'CatchClause'],
  ...['ForStatement', 'ForInStatement', 'ForOfStatement', 'ClassDeclaration', 'ClassExpression'],
  ...FUNCTIONS,
]);

/**
 * @param {Node} scope
 * @returns {Binding[]}
 */
function bindingsOf(scope) {
  const local = (/** @type {{ name: string, node: Node }} */ { name, node }) =>
    /** @type {Binding} */ ({ name, kind: 'local', node });
  if (isFunction(scope)) {
    const own = scope.id ? [local({ name: scope.id.name, node: scope })] : [];
    return [
      ...own,
      ...scope.params.flatMap(namesIn).map((/** @type {string} */ name) => parameter(name, scope)),
    ];
  }
  switch (scope.type) {
    case 'Program':
      return moduleBindings(scope);
    case 'BlockStatement':
    case 'StaticBlock':
      return declarationsIn(scope.body).map(local);
    case 'SwitchStatement':
      return declarationsIn(scope.cases.flatMap((/** @type {Node} */ one) => one.consequent)).map(local);
    case 'CatchClause':
      return namesIn(scope.param).map((name) => local({ name, node: scope }));
    case 'ForStatement':
      return scope.init ? declarationsIn([scope.init]).map(local) : [];
    case 'ForInStatement':
    case 'ForOfStatement':
      return declarationsIn([scope.left]).map(local);
    default:
      return scope.id ? [local({ name: scope.id.name, node: scope })] : [];
  }
}

/**
 * @param {string} name
 * @param {Node} node
 * @returns {Binding}
 */
function parameter(name, node) {
  return { name, kind: 'parameter', node };
}

/**
 * @param {Node} program
 * @returns {Binding[]}
 */
function moduleBindings(program) {
  const imported = program.body
    .filter((/** @type {Node} */ statement) => statement.type === 'ImportDeclaration')
    .flatMap((/** @type {Node} */ statement) => statement.specifiers)
    .map((/** @type {Node} */ node) => ({ name: node.local.name, kind: 'import', node }));
  const own = declarationsIn(program.body).map(({ name, node }) => ({ name, kind: 'module', node }));
  return [...imported, ...own];
}

/**
 * Walks a whole tree and tells every reference to a name, with what it means there.
 * @param {Node} program
 * @param {OnReference} onReference
 * @param {(node: Node, trail: readonly Node[], find: (name: string) => Binding | undefined) => void} [onNode]
 */
export function walk(program, onReference, onNode) {
  const scopes = new Scopes();
  const find = (/** @type {string} */ name) => scopes.find(name);
  /** @type {Node[]} */
  const trail = [];
  const visit = (/** @type {Node} */ node) => {
    if (node.type === 'ImportDeclaration') return;
    if (node.type === 'Identifier') return onReference(scopes.find(node.name), node, trail);
    const isScope = SCOPES.has(node.type);
    if (isScope) scopes.enter(node);
    onNode?.(node, trail, find);
    trail.push(node);
    for (const child of childrenOf(node)) visit(child);
    trail.pop();
    if (isScope) scopes.leave();
  };
  visit(program);
}

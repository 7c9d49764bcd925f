/**
 * A document whose new elements obey a policy without inline style: xterm makes `style` elements
 * and `style` attributes, which `style-src 'self'` refuses. Here the text of a `style` element
 * becomes a constructed style sheet, and the attribute is set through the object model; the policy
 * permits both to a permitted script.
 */

export interface StrictDocument {
  readonly document: Document;
  /** Runs `make` while the real document makes such elements, too: some code uses that one. */
  within(make: () => void): void;
  /** Removes the style sheets. */
  release(): void;
}

export function createStrictDocument(real: Document): StrictDocument {
  const sheets = new Set<CSSStyleSheet>();
  const drop = (sheet: CSSStyleSheet): void => {
    sheets.delete(sheet);
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((each) => each !== sheet);
  };
  const createElement = (name: string): HTMLElement => {
    if (name === 'style') return sheetElement(real, sheets, drop);
    const element = Document.prototype.createElement.call(real, name);
    if (name === 'span') styleByObject(element);
    return element;
  };
  const document = new Proxy(real, {
    get(target, key) {
      if (key === 'createElement') return createElement;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const within = (make: () => void): void => {
    Object.defineProperty(real, 'createElement', { value: createElement, configurable: true });
    try {
      make();
    } finally {
      // The property of the prototype is visible again.
      Reflect.deleteProperty(real, 'createElement');
    }
  };
  return { document, within, release: () => [...sheets].forEach(drop) };
}

/** Replaces a `style` element; its text is the text of a sheet. */
function sheetElement(
  real: Document,
  sheets: Set<CSSStyleSheet>,
  drop: (sheet: CSSStyleSheet) => void,
): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.add(sheet);
  real.adoptedStyleSheets.push(sheet);
  const element = real.createElement('template');
  let text = '';
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (next: string) => {
      text = next;
      sheet.replaceSync(next);
    },
  });
  Object.defineProperty(element, 'remove', {
    value: () => {
      drop(sheet);
      Element.prototype.remove.call(element);
    },
  });
  return element;
}

function styleByObject(element: HTMLElement): void {
  Object.defineProperty(element, 'setAttribute', {
    value: (name: string, value: string) => {
      if (name === 'style') element.style.cssText = value;
      else Element.prototype.setAttribute.call(element, name, value);
    },
  });
}

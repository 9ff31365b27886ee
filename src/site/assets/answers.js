/** Indents JSON and keeps every digit: numbers stay the text that they are, as a double does not hold an int64. */
export function indent(text) {
  // What a browser without `JSON.rawJSON` cannot indent exactly, it shows as it came.
  if (!JSON.rawJSON) return text;
  const keep = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
  return JSON.stringify(JSON.parse(text, keep), null, 2);
}

/** Shows the JSON of an answer as it came over the wire. Swagger UI's own way rounds numbers beyond 2^53. */
export function exactAnswers({ React }) {
  const Exact = (ResponseBody) => (props) => {
    const { content, contentType, getComponent } = props;
    if (typeof content !== 'string' || !/json/i.test(contentType))
      return React.createElement(ResponseBody, props);
    const Code = getComponent('HighlightCode', true);
    const look = { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true };
    return React.createElement(
      'div',
      null,
      React.createElement('h5', null, 'Response body'),
      React.createElement(Code, look, indent(content)),
    );
  };
  return { wrapComponents: { responseBody: Exact } };
}

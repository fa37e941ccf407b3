// As with a Node.js that is too old for the bundle, or a missing library: no process of the host starts.
throw new Error('this image has no host worker that starts');

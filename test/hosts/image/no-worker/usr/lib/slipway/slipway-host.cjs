// As with a too old Node.js or a missing library.
throw new Error('this image has no host worker that starts');

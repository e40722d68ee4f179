class Module:
    def __call__(self, *arguments, **keywords):
        return self.forward(*arguments, **keywords)
